"""Causes as integrators meet them, planted on boards by scripts that know nothing of ``why``.

Each case cites the public report that it is taken from. Its effect is measured here before ``why``
is asked, and decides whether it counts. A set of the cases is held out.
"""
