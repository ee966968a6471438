"""The environment in which the pages are rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.quantities import label, quantity

if TYPE_CHECKING:
    from jinja2 import Environment


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
