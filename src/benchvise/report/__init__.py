"""Typed results as text and pictures; the only places that escape are the sinks.

    tables, NAME_tables ─→ Table ─→ rendering: terminal, Markdown, CSV
    html, why.page      ─→ templates (jinja2, which escapes) ─→ one self-contained page
    site, site_pages    ─→ the same templates, many pages that share script and style
    openmetrics         ─→ text for Prometheus
    history             ─→ a series over runs; history_events: changes that belong together
    figures, curves, histograms, NAME_figures ─→ data of charts, drawn by web/src/charts

``data`` is what reports and pages show of runs, ``sinks`` says what each sink makes of text from
outside. Nothing here measures or reads a store.
"""
