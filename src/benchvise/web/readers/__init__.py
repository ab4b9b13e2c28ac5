"""Processes that read what strangers made, and may die of it.

    server: pages, store, rig ─→ pool: one request, one socket pair, passed to
        ├ the reader: traces and captures, timelines, comparisons (``process``)
        └ the query process: SQL, a forked child each query (``queries``)

Neither has the store, the rig or the network; both open files only where the server was told that
traces and captures lie (``benchvise.confinement``). The server never maps nor decodes a file of
theirs. Who dies is started again, and the request that it died of is answered with why.

- ``messages``: how requests and answers pass.
- ``pool``: the server's end. ``process``, ``queries``: the programs at the other one.
- ``desertion``: what is computed for a browser that has left ends.
"""
