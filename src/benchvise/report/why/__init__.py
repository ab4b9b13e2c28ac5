"""A diagnosis as text, as tables and as a page.

document            ─→ sentences: the texts of each part, in every form
                    ─→ figures: data of its charts
sentences           ─→ terminal: tables; plan: what would be done
sentences, figures  ─→ page: one self-contained page, or Markdown
"""
