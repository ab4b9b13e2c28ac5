"""The commands of ``benchvise signal``: one record each, beside nothing that is heavy to import.

A module has the options, the function that makes the result, its columns and tables, its JSON, and
at its end the record. ``capture`` and ``response``, which need a rig and the store, have theirs in
``flows``.
"""
