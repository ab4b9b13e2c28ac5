"""Signals made from the literature, with what is true of them, beside what Benchvise reports.

Nothing here uses ``benchvise.signal`` to make a signal: generators and analyses share no code.
"""
