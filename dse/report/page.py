"""The Jinja2 environment in which all pages are rendered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import label, quantity

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates() -> Environment:
    """Return the Jinja2 environment of the report's pages.

    All values are escaped for HTML; a name without a value is an error.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    pages = Environment(
        loader=PackageLoader("tilewright.dse.report", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["quantity"] = quantity
    pages.filters["label"] = label
    return pages


def script_safe(data: Mapping[str, Any]) -> str:
    """Return data as JSON text that may stand in a script element of a page."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
