"""The workbench in the browser: pages made on this machine, for people who would rather look.

A page is a query, a template and a ``.json`` twin of the same document. What is interactive is
added by the scripts of ``web/`` where the page says so.
"""
