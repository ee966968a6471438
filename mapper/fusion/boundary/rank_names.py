"""Find which rank variables of several Einsums are one variable where the Einsums share a loop.

`Y[m, n] = …` and `Z[d, f] = Y[M: d, N: e] * …` call the ranks of Y by different names: m and d are
one variable, n and e are another. Exchanged tensors link the variables of their ranks. Variables of
one name are linked too, as long as no Einsum ends up with two variables in one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.workload import Workload


class LoopName(NamedTuple):
    """Name a loop that Einsums may share.

    `variable`: the name of its rank variable that is common to all Einsums. `dim`: (component,
    dimension) whose lanes a spatial loop distributes it over; () for a temporal loop.
    """

    variable: str
    dim: tuple[str, ...] = ()


class EinsumVariable(NamedTuple):
    """Name a rank variable of one Einsum, which is given by its number in the workload."""

    einsum: int
    variable: str


Links = Iterator[tuple[EinsumVariable, EinsumVariable]]
LoopNames = tuple[Mapping[str, str], ...]  # per Einsum: rank variable -> name common to all Einsums


def loop_names(workload: Workload, exchanged: Mapping[str, tuple[int, ...]]) -> LoopNames:
    """Give rank variables of different Einsums one name where a shared loop runs over all of them.

    `exchanged[T]`: numbers of the Einsums that use exchanged tensor T. Variables are one if they
    index the same rank of an exchanged tensor, or have the same name, provided that their bounds
    are equal and no Einsum has two of them. Return, per Einsum, a mapping of rank variable to
    common name: that of the first Einsum, with ' appended where another class has it already.
    Example: `Y[m, n]` is written by one Einsum and read by another as `Y[d, e]`: d is called m
    there, e is called n (theory/fusion.md §1.3).
    """
    einsums = workload.einsums
    variables = [EinsumVariable(i, v) for i, e in enumerate(einsums) for v in e.bounds]
    classes = {variable: frozenset({variable}) for variable in variables}
    for first, second in (*_links_by_tensor(einsums, exchanged), *_links_by_name(einsums)):
        merged = classes[first] | classes[second]
        same_bound = len({einsums[i].bounds[v] for i, v in merged}) == 1
        if same_bound and len({i for i, _ in merged}) == len(merged):
            classes.update(dict.fromkeys(merged, merged))
    return _name_classes(einsums, classes)


def simple_ranks(access: TensorAccess) -> Iterator[tuple[str, str]]:
    """Yield (rank, variable) for each rank that one rank variable with factor 1 indexes.

    Ranks indexed by a sum or by a multiple, such as p + r or 2*p, are left out.
    """
    for rank, form in access.projection:
        for variable, factor in form.terms:
            if len(form.terms) == 1 and factor == 1:
                yield rank, variable


class AlignedRank(NamedTuple):
    """Describe a rank of a tensor whose index is one variable plus a constant.

    `rank`: its name. `variable`: the name common to all Einsums. `constant`: what is added to it.
    """

    rank: str
    variable: str
    constant: int


def aligned_ranks(access: TensorAccess, names: Mapping[str, str]) -> frozenset[AlignedRank]:
    """Return the ranks of a tensor that one variable with factor 1 indexes, with name and constant.

    `names`: the common name of each rank variable of the Einsum. Two Einsums with an entry in
    common cut that rank of the tensor into the same tiles under a loop over the variable. `T[P: p]`
    and `T[P: p + 1]` do not: their tiles differ by one position.
    """
    forms = dict(access.projection)
    return frozenset(
        AlignedRank(rank, names[variable], forms[rank].constant)
        for rank, variable in simple_ranks(access)
    )


def _links_by_tensor(einsums: Sequence[Einsum], exchanged: Mapping[str, tuple[int, ...]]) -> Links:
    """Yield pairs of variables that index the same rank of an exchanged tensor in two Einsums.

    The two Einsums follow each other among the tensor's users. Only indices that are one variable
    with factor 1 count.
    """
    for tensor, users in sorted(exchanged.items(), key=lambda item: (item[1], item[0])):
        for user, following in pairwise(users):
            variables = dict(simple_ranks(einsums[user].access(tensor)))
            next_variables = dict(simple_ranks(einsums[following].access(tensor)))
            for rank in (rank for rank in variables if rank in next_variables):
                yield (
                    EinsumVariable(user, variables[rank]),
                    EinsumVariable(following, next_variables[rank]),
                )


def _links_by_name(einsums: Sequence[Einsum]) -> Links:
    """Yield pairs of variables of one name: each with that of the last earlier Einsum."""
    last: dict[str, int] = {}
    for number, einsum in enumerate(einsums):
        for variable in einsum.bounds:
            if variable in last:
                yield EinsumVariable(last[variable], variable), EinsumVariable(number, variable)
            last[variable] = number


def _name_classes(
    einsums: Sequence[Einsum], classes: Mapping[EinsumVariable, frozenset[EinsumVariable]]
) -> LoopNames:
    """Return, per Einsum, the common name of each rank variable: one name per class of variables.

    A class is called as its first variable is in the order of the workload, with ' appended until
    no other class has that name.
    """
    names: dict[frozenset[EinsumVariable], str] = {}
    for number, einsum in enumerate(einsums):
        for variable in einsum.bounds:
            members = classes[EinsumVariable(number, variable)]
            if members not in names:
                name = variable
                while name in names.values():
                    name += "'"
                names[members] = name
    return tuple(
        {v: names[classes[EinsumVariable(i, v)]] for v in e.bounds} for i, e in enumerate(einsums)
    )
