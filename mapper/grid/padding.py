"""Shares of sizes that the elements do not divide: the last share is filled up.

A rank variable of 100 values over 16 columns has 15 shares of 7; the last one has 2 values and 5 of
padding, zeros, or minus infinity for a maximum. Every element so runs the same program. A result in
the padding is dropped; another variable may be padded only where the padding changes no result
(theory/grid.md §1).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from math import inf

from tilewright.mapper.workload.einsum import Affine, Einsum
from tilewright.mapper.workload.formulas.expression import expression, joins_by_max

_OF_ZERO = ("relu", "sqrt", "square", "tanh")
"""Functions that give 0 for 0."""


def may_pad(einsum: Einsum, variable: str) -> bool:
    """Return whether an element may compute points beyond the last value of a rank variable.

    Results there are dropped if the output has the variable. If it is summed over, the inputs that
    it indexes alone are 0 there, and the formula has to be 0, too: `A[m, k] * B[k]` may be padded
    in k, `exp(A[m, k])` may not. A maximum of the values of one input may.
    """
    if variable in einsum.outputs[0].rank_variables:
        return True
    if joins_by_max(einsum):
        return _takes_greatest(einsum)
    zeros = {
        f"_{number}"
        for number, access in enumerate(einsum.inputs)
        if any(form.terms == ((variable, 1),) for _, form in access.projection)
    }
    return _is_zero(expression(einsum), frozenset(zeros))


def is_plain(form: Affine) -> bool:
    """Return whether an index is a rank variable as it is, such as k, not k + 1 or k + r."""
    return form.constant == 0 and len(form.terms) == 1 and form.terms[0][1] == 1


def padding_value(einsum: Einsum) -> float:
    """Return the value of the padding of inputs: 0, or minus infinity if the greatest is taken."""
    return -inf if joins_by_max(einsum) and _takes_greatest(einsum) else 0.0


def _takes_greatest(einsum: Einsum) -> bool:
    """Return whether an output is the greatest of one input's values, each rank of one variable.

    Its ranks begin at 0 and are not padded by the workload, so that all of its padding is behind
    the last values.
    """
    match expression(einsum):
        case ast.Name(id=name) if name.startswith("_"):
            access = einsum.inputs[int(name[1:])]
            return not access.padded and all(is_plain(form) for _, form in access.projection)
    return False


def _is_zero(node: ast.expr, zeros: frozenset[str]) -> bool:
    """Tell whether a formula must be 0 where the inputs in `zeros` are 0 and all others finite."""
    match node:
        case ast.Name(id=name):
            return name in zeros
        case ast.UnaryOp(operand=operand):
            return _is_zero(operand, zeros)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _is_zero(left, zeros) or _is_zero(right, zeros)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _is_zero(left, zeros) and _is_zero(right, zeros)
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant()):
            return _is_zero(left, zeros)
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in (*_OF_ZERO, "max"):
            return all(_is_zero(argument, zeros) for argument in arguments)
    return False


def padded(einsum: Einsum, bounds: Mapping[str, int]) -> Einsum:
    """Return an Einsum as elements compute it, with larger bounds of its rank variables.

    The engines of the elements compute a copy operation as they do its formula.
    """
    if not einsum.is_copy and all(bounds[name] == size for name, size in einsum.bounds.items()):
        return einsum
    sizes = {name: bounds[name] for name in einsum.bounds}
    return replace(einsum, bounds=sizes, is_copy=False)
