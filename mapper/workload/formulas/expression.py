"""Return the formula of an Einsum as a syntax tree, also of a plain product or sum."""

from __future__ import annotations

import ast
from functools import lru_cache

from tilewright.mapper.workload.einsum import Einsum


def expression(einsum: Einsum) -> ast.expr:
    """Return what an Einsum computes at one point, as a syntax tree.

    The names `_0`, `_1`, … stand for the inputs in their order.
    """
    if einsum.formula is not None:
        return _parsed(einsum.formula.text)
    return _parsed(f" {einsum.combine} ".join(f"_{number}" for number in range(len(einsum.inputs))))


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.expr:
    """Return the syntax tree of a text; cached, so nobody may change it."""
    return ast.parse(text, mode="eval").body


def joins_by_max(einsum: Einsum) -> bool:
    """Return whether the points of an output are joined by max instead of a sum."""
    return einsum.formula is not None and einsum.formula.reduction == "max"
