"""Tables of this program's own from those that pyarrow makes, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from benchvise.trace import native


def arrow_table(columns: Any) -> native.Table:
    """A table as the decoder gives it, of what ``pyarrow.table`` takes."""
    return native.Table.from_arrow(pa.table(columns))
