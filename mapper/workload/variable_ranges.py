"""The range of each rank variable, from the sizes of ranks and from written bounds.

The iteration space is a box (theory/model.md §1.1): a bound over several variables, such as
`p + r < 30`, limits each variable as if the others had their smallest values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tilewright.arch.errors import Where
from tilewright.mapper.workload.einsum import Affine
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.notation import LinearForm, affine_terms

_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Limit:
    """One constraint on rank variables, in the form `form <= 0`.

    `form`: an affine sum of rank variables; `where`: its place in the file; `text`: as written
    there, for messages. `m < 8` is the form m - 7.
    """

    form: Affine
    where: Where | None
    text: str


def limits_of_rank(
    form: Affine, size: int, where: Where | None, rank: str, padding: int = 0
) -> list[Limit]:
    """Return the limit that a rank's size sets on its index: `form <= size - 1 + padding`.

    `form`: the index, an affine sum of rank variables; `where`: place of the size in the file;
    `padding`: positions of zeros behind the last value that the index may reach.
    """
    text = f"size {size} of rank {rank}"
    return [Limit(Affine(form.terms, form.constant - size + 1 - padding), where, text)]


def parse_limits(text: str, where: Where | None) -> list[Limit]:
    """Parse a bound such as `0 <= a < 10` to one limit per comparison.

    Bounds may be joined by `and`, their sides may be sums of rank variables. Raises WorkloadError,
    at `where`, for any other text.
    """
    try:
        if len(text) > _LONGEST:
            raise ValueError(text[:20])
        return [Limit(form, where, text) for form in _forms(text)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise WorkloadError(
            "a bound of the iteration space compares sums of rank variables with whole numbers",
            where=where,
            value=text,
            instead="for example 0 <= a < 10",
        ) from None


@lru_cache(maxsize=4096)  # the bounds of a workload are read for each of its Einsums
def _forms(text: str) -> tuple[Affine, ...]:
    return tuple(_comparisons(ast.parse(text, mode="eval").body))


def _comparisons(node: ast.expr) -> list[Affine]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [form for value in node.values for form in _comparisons(value)]
    if not isinstance(node, ast.Compare):
        raise ValueError("not a comparison")
    forms: list[Affine] = []
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        forms += _comparison(affine_terms(left), operator, affine_terms(right))
    return forms


def _comparison(left: LinearForm, operator: ast.cmpop, right: LinearForm) -> list[Affine]:
    """Return affine forms that are all at most 0 just if `left operator right` holds.

    ValueError for other operators than <, <=, >, >= and ==.
    """
    match operator:
        case ast.Lt() | ast.LtE():
            return [_difference(left, right, strict=isinstance(operator, ast.Lt))]
        case ast.Gt() | ast.GtE():
            return [_difference(right, left, strict=isinstance(operator, ast.Gt))]
        case ast.Eq():
            return [_difference(left, right, strict=False), _difference(right, left, strict=False)]
    raise ValueError("not an order")


def _difference(small: LinearForm, large: LinearForm, *, strict: bool) -> Affine:
    """Return `small - large`, plus 1 for a strict comparison of whole numbers."""
    terms = dict(small.factors)
    for name, factor in large.factors.items():
        terms[name] = terms.get(name, 0) - factor
    nonzero_terms = tuple((name, factor) for name, factor in terms.items() if factor)
    return Affine(nonzero_terms, small.constant - large.constant + strict)


def ranges(
    variables: Iterable[str], limits: list[Limit], einsum: str, where: Where | None
) -> dict[str, tuple[int, int]]:
    """Return the smallest and the largest value of each rank variable that its limits allow.

    A variable without a lower limit begins at 0. A limit on several variables bounds each as if
    the others had their smallest values (theory/model.md §1.1). Raises WorkloadError, at `where`,
    for a variable without an upper bound, an empty range, or a lower bound over several variables
    that cuts a corner off the box of all ranges. `einsum`: its name, for messages.
    """
    low = dict.fromkeys(variables, 0)
    for limit in limits:
        low |= {name: value for name, value in _lower_of(limit.form) if name in low}
    high: dict[str, int] = {}
    for limit in limits:
        for name, value in _uppers(limit.form, low):
            high[name] = min(value, high.get(name, value))
    intervals = {name: _interval(name, low, high, einsum, where) for name in low}
    for limit in limits:
        _check_lower(limit, intervals, einsum)
    return intervals


def _interval(
    name: str, low: Mapping[str, int], high: Mapping[str, int], einsum: str, where: Where | None
) -> tuple[int, int]:
    """Return the least and the greatest value of rank variable `name`, from `low` and `high`.

    Raises WorkloadError if there is no upper bound, or if the least is above the greatest.
    """
    if name not in high:
        raise _unbounded(name, einsum, where)
    if high[name] < low[name]:
        raise WorkloadError(
            f"Einsum {einsum}: no value of {name} meets all bounds",
            where=where,
            value=f"{low[name]} <= {name} <= {high[name]}",
            instead="check rank_sizes and iteration_space_shape",
        )
    return low[name], high[name]


def _lower_of(form: Affine) -> list[tuple[str, int]]:
    """Return the lower bound in a form that must be at most 0, as [(variable, value)] or [].

    Only a form over one variable has one: `-f * v + c <= 0` gives `v >= c / f`.
    """
    if len(form.terms) == 1 and form.terms[0][1] < 0:
        name, factor = form.terms[0]
        return [(name, -(-form.constant // -factor))]
    return []


def _uppers(form: Affine, low: Mapping[str, int]) -> list[tuple[str, int]]:
    if any(factor < 0 or name not in low for name, factor in form.terms):
        return []
    base = form.constant + sum(factor * low[name] for name, factor in form.terms)
    return [(name, low[name] + -base // factor) for name, factor in form.terms]


def _check_lower(limit: Limit, intervals: Mapping[str, tuple[int, int]], einsum: str) -> None:
    """Raise WorkloadError if a limit over several variables would cut a corner off the box.

    A limit with a negative factor must hold for all combinations of values.
    """
    terms = limit.form.terms
    if len(terms) < 2 or all(factor > 0 for _, factor in terms):
        return
    if any(name not in intervals for name, _ in terms):
        return
    worst = limit.form.constant + sum(f * intervals[name][f > 0] for name, f in terms)
    if worst > 0:
        raise WorkloadError(
            f"Einsum {einsum}: the iteration space is a box; this bound cuts a corner off",
            where=limit.where,
            value=limit.text,
            instead="bounds on one rank variable each",
        )


def _unbounded(name: str, einsum: str, where: Where | None) -> WorkloadError:
    rank = name.upper()
    return WorkloadError(
        f"Einsum {einsum}: rank variable {name} has no bound",
        where=where,
        value=name,
        instead=f"rank_sizes: {{{rank}: …}} or iteration_space_shape: {{{name}: 0 <= {name} < …}}",
    )
