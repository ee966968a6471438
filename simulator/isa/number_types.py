"""The number types of values in memory, and the machine words of each."""

from __future__ import annotations

from typing import Final

DTYPES: Final[dict[str, int]] = {"f32": 2, "i32": 2, "u32": 2, "f16": 1, "i16": 1, "u16": 1}
"""16-bit machine words of one value of each dtype."""
