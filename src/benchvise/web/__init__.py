"""The workbench: ``benchvise serve``.

    browser ─→ security (user, Host, Origin, token, CSRF, sizes) ─→ app: the table of addresses
        ├ pages: a query → a document ─→ template: the page, or the same as .json
        ├ workspace: /api/traces/KEY/…, JSON and Arrow
        ├ captures: /api/captures/KEY/…, the same answers
        └ live: /live/…, one source a topic, any number of pages
    page ─→ web/src/pages/islands.ts: the parts that a script makes

What a page shows is in its address, and it is made on the server: filters are forms, tabs are
links. A trace or a capture is named by a key of an index (``file_index``), never by a path.

- ``serving`` listens; ``app`` has the table of addresses; ``security`` sees each request first.
- ``access``: who a request comes from, and what proves it; ``audit``: the log of what was done.
- ``context``: the settings and what all requests share; ``cache``: what is kept between them.
- ``http`` reads queries with bounds, answers in JSON and Arrow, and has the errors.
- ``answers`` makes pages of documents; ``pages`` has a module for each group of pages.
- ``timeline`` is the one set of questions that traces and captures answer; ``workspace`` and
  ``captures`` have the open files and what is asked of them.
- ``live`` feeds pages that watch; ``rig`` has what they watch of boards, and what they may do.

What a rig's boards do is seen without asking those who hold them: the holder notes it beside its
lock.
"""
