"""The formula of an Einsum as a syntax tree, whether it is written out or a product or sum."""

from __future__ import annotations

import ast

from tilewright.mapper.workload.einsum import Einsum


def expression(einsum: Einsum) -> ast.expr:
    """Return what an Einsum computes at one point, inputs as the names `_0`, `_1`, …"""
    if einsum.formula is not None:
        return ast.parse(einsum.formula.text, mode="eval").body
    names = [f"_{number}" for number in range(len(einsum.inputs))]
    return ast.parse(f" {einsum.combine} ".join(names), mode="eval").body


def joins_by_max(einsum: Einsum) -> bool:
    """Return whether the points of an output are joined by max instead of a sum."""
    return einsum.formula is not None and einsum.formula.reduction == "max"
