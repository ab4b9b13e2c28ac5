"""What a page sends along with a request."""

from __future__ import annotations

import json

from starlette.requests import Request


async def sent_text(request: Request, name: str) -> str:
    """The text of that name in the JSON object that was sent; empty when there is none."""
    try:
        said = json.loads(await request.body())
    except ValueError:
        return ""
    text = said.get(name) if isinstance(said, dict) else None
    return text if isinstance(text, str) else ""
