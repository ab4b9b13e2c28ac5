"""The workbench: ``benchvise serve``.

    browser ─→ security (user, Host, Origin, token, CSRF, sizes) ─→ app: the table of addresses
        ├ pages: a query → a document ─→ template: the page, or the same as .json
        ├ readers: /api/traces/KEY/…, /api/captures/KEY/…, JSON and Arrow ─→ a confined process
        │       ├ workspace: what is asked of traces
        │       └ captures: the same answers of captures
        └ live: /live/…, one source a topic, any number of pages
    page ─→ web/src/pages/islands.ts: the parts that a script makes

What a page shows is in its address, and it is made on the server: filters are forms, tabs are
links. A trace or a capture is named by a key of an index (``file_index``), never by a path.

- ``serving`` listens; ``app`` has the table of addresses; ``security`` sees each request first.
- ``access``: who a request comes from, and what proves it; ``audit``: the log of what was done.
- ``context``: the settings and what all requests share; ``cache``: what is kept between them.
- ``http`` reads queries with bounds, answers in JSON, and has the errors; ``tagged_answers``: what
  browsers keep, in JSON and Arrow.
- ``answers`` makes pages of documents; ``pages`` has a module for each group of pages.
- ``readers``: the processes that open traces and captures, and may die of them. The server never
  maps nor decodes such a file.
- ``export`` has a trace written for another viewer, in a process of its own.
- ``timeline`` is the one set of questions that traces and captures answer; ``workspace`` and
  ``captures`` have the open files and what is asked of them.
- ``live`` feeds pages that watch; ``rig`` has what they watch of boards, and what they may do.

What a rig's boards do is seen without asking those who hold them: the holder notes it beside its
lock.
"""
