"""When output has colours: ``--color`` of the command line, else ``NO_COLOR`` and the terminal.

It stands before ``--`` anywhere on the command line, so that it can be added at the end of one
that was typed. What is not a terminal has no colours unless ``--color always`` asks for them.
"""

from __future__ import annotations

from typing import Any

from benchvise.errors import UsageError

_OPTION = "--color"
CHOICES = ("auto", "always", "never")

_chosen = "auto"


def take_color_option(arguments: list[str]) -> list[str]:
    """The arguments without ``--color``, which holds from now on. UsageError for another value."""
    global _chosen  # one command line a process
    _chosen = "auto"
    end = arguments.index("--") if "--" in arguments else len(arguments)
    remaining: list[str] = []
    options = iter(arguments[:end])
    for argument in options:
        if argument == _OPTION:
            _chosen = _checked(next(options, ""))
        elif argument.startswith(f"{_OPTION}="):
            _chosen = _checked(argument.partition("=")[2])
        else:
            remaining.append(argument)
    return remaining + arguments[end:]


def _checked(choice: str) -> str:
    if choice not in CHOICES:
        problem = f"'{choice}' is no value" if choice else "the value is missing"
        raise UsageError(f"{_OPTION}: {problem}", f"choose one of {', '.join(CHOICES)}")
    return choice


def color_options() -> dict[str, Any]:
    """What Rich's console is given; ``auto`` leaves it to ``NO_COLOR`` and the terminal."""
    if _chosen == "always":
        return {"color_system": "256", "no_color": False}
    if _chosen == "never":
        return {"color_system": None}
    return {}
