"""What the trace workspace asks for, below ``/api/traces/KEY/``: one module a concern.

``views`` has the addresses, ``query`` reads what a request asks about, ``served`` has the open
traces. ``activity`` answers what actors did, ``events`` what happened, ``latency`` how long it took
from one to another, ``causes`` why, ``modes`` in which groups of times and which functions,
``noise`` what osnoise and timerlat measured, ``sql`` any other question, ``timeline`` what is
drawn; ``comparison`` puts two traces side by side.
"""
