"""Captures: electrical signals that a logic analyser or an oscilloscope recorded.

``reading.open_capture`` gives any file as a ``capture.Capture``: the edges of each line. What is
asked of one, response times, clocks, serial lines, is a module each.
"""
