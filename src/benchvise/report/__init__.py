"""Typed results as text and pictures; the only places that escape are the sinks.

    tables, NAME_tables ─→ Table: cells with a tone ─→ terminal, markdown, records (CSV)
    html, why_page      ─→ templates (jinja2, which escapes) ─→ one self-contained page
    figures, NAME_figures ─→ data of charts, drawn by web/src/charts

``sinks`` says what each sink makes of text from outside. Nothing here measures or reads a store.
"""
