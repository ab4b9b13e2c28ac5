"""Styles of the terminal by what they mean, in colours that can be read on black and on white.

A terminal's own first sixteen colours suit the background that it was set up for: the usual yellow
cannot be read on white, the usual blue not on black. So these are of the fixed part of the palette
of 256, each of middling luminance: a contrast of 4 or more with both (WCAG 2.1, 1.4.3). Good and
bad are told apart by all kinds of colour vision, and a word says it anyway.
"""

GOOD = "bold color(27)"
BAD = "bold color(161)"
ERROR = "color(161)"
DOUBT = "color(130)"
NAME = "bold color(31)"
"""An option, a command or an argument in help."""
VALUE = "color(130)"
"""What an option takes."""
COMMAND = "color(30)"
"""A line to copy."""
HUES = ("color(27)", "color(30)", "color(130)", "color(133)")
"""Parts of a bar, in turn."""
PROGRESS = {
    "bar.back": "color(243)",
    "bar.complete": "color(27)",
    "bar.finished": "color(27)",
    "bar.pulse": "color(30)",
    "progress.data.speed": "none",
    "progress.download": "none",
    "progress.elapsed": "none",
    "progress.filesize": "none",
    "progress.filesize.total": "none",
    "progress.percentage": "none",
    "progress.remaining": "none",
    "progress.spinner": "color(30)",
}
"""What rich draws of progress, by its names: its yellow and cyan cannot be read on white."""
