"""Times as people say them."""

from __future__ import annotations

from datetime import UTC, datetime

_STEPS = ((86400.0 * 7, "week"), (86400.0, "day"), (3600.0, "hour"), (60.0, "minute"))


def moment(when: str | float | datetime) -> datetime:
    """ISO 8601 text or seconds since 1970, in UTC."""
    if isinstance(when, str):
        when = datetime.fromisoformat(when)
    if isinstance(when, datetime):
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    return datetime.fromtimestamp(when, UTC)


def stamp(when: str | float | datetime) -> str:
    """``2026-11-22 08:04:36 UTC``."""
    return f"{moment(when):%Y-%m-%d %H:%M:%S} UTC"


def ago(when: str | float | datetime, now: datetime | None = None) -> str:
    """``3 hours ago``; of what lies ahead, or years back, the date."""
    then = moment(when)
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < -60 or seconds > 86400 * 365:
        return f"{then:%Y-%m-%d}"
    for length, name in _STEPS:
        count = int(seconds / length)
        if count:
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"


def span(seconds: float) -> str:
    """``2 h 05 min``, ``3 min 07 s``, ``42 s``, ``0.3 s``."""
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60):02} s"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
