"""What orchestrates several packages: a command that holds boards, measures and keeps results.

A flow opens boards, paces what is measured by what is stored, restores what was set, and returns
typed results; it prints nothing and parses no words. What needs one package only is called by the
command itself: a flow that passes a call through does not exist (``tests/test_architecture.py``
holds that each joins at least two packages).
"""
