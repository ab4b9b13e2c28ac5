"""What the kernel says at every boot, whatever words are in it: nothing there is a fault.

Two kinds: lines that tell how it was started or what a part can do, and counts of bad things that
are zero (``bad PEBs: 0``, ``0 dead``). A rule of words would take both for what they count.
"""

from __future__ import annotations

import re

_STATEMENT = re.compile(
    # how it was started: parameters are the user's words
    r"^(?:Kernel )?command line: |^Unknown kernel command line|^Booting paravirtuali[sz]ed kernel"
    r"|^(?:\s|[\w/-]{1,30}: )*(?:Parameter|Malformed early option|Setting option) "
    # what a part can do, and that it is ready to do it
    r"|\bcapabilit(?:y|ies): |\b(?:enabled|signaling) with IRQ \d+$"
    # a port that waits for its first link
    r"|\bADDRCONF\(\w{1,20}\): \S{1,40}: link |^\S{1,40}: link is not ready$"
    # what a file system found of its own when it was mounted
    r"|^jffs2: notice: .{0,80}\bcomplete building\b",
    re.IGNORECASE,
)
_BAD = (
    r"(?:bad|corrupt(?:ed)?|dead|orphans?|errors?|errs?|fail(?:ed|ures?|s)?|faults?|lost|dropped"
    r"|over-?runs?|under-?runs?|(?:un)?correct(?:ed|able)|time-?outs?|broken|damaged|missing)"
)
_THINGS = "(?:blocks?|PEBs?|sectors?|pages?|errors?|nodes?|count)"
_ZERO = re.compile(
    rf"(?:(?<=\()|(?<=, )|(?<=: )|^)0 {_BAD}(?: {_THINGS})?\b"
    rf"|\b{_BAD}(?: {_THINGS})?(?:: ?|=)0(?![\w.])"
    rf"|\b{_BAD} 0(?=,)",
    re.IGNORECASE,
)


def is_statement(text: str) -> bool:
    """Whether a line tells of no event at all."""
    return _STATEMENT.search(text) is not None


def without_zeros(text: str) -> str:
    """A line without the bad things of which it says that there are none."""
    return _ZERO.sub("", text) if "0" in text else text
