"""Which rank variables of several Einsums are one where the Einsums share a loop.

`Y[m, n] = …` and `Z[d, f] = Y[M: d, N: e] * …` call the ranks of Y by other names: m and d are one
variable, n and e are. Tensors that are exchanged link the variables of their ranks; variables of
one name are linked too, as far as no Einsum ends up with two variables in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.workload import Workload


class LoopName(NamedTuple):
    """A loop that Einsums may share: the name of its variable, and the (component, dimension) of
    its lanes; () of a loop in time."""

    variable: str
    dim: tuple[str, ...] = ()


Member = tuple[int, str]  # number of an Einsum, its rank variable
LoopNames = tuple[Mapping[str, str], ...]  # per Einsum: rank variable -> name shared by all


def loop_names(workload: Workload, exchanged: Mapping[str, tuple[int, ...]]) -> LoopNames:
    """Return a name for each rank variable of each Einsum, equal where they are one.

    `exchanged[T]`: numbers of the Einsums that touch T. What has one name only keeps it.
    """
    einsums = workload.einsums
    classes = {(i, v): frozenset({(i, v)}) for i, e in enumerate(einsums) for v in e.bounds}
    for one, other in (*_through_tensors(einsums, exchanged), *_by_name(einsums)):
        joined = classes[one] | classes[other]
        same_bound = len({einsums[i].bounds[v] for i, v in joined}) == 1
        if same_bound and len({i for i, _ in joined}) == len(joined):
            classes.update(dict.fromkeys(joined, joined))
    return _named(einsums, classes)


def ranks_of(access: TensorAccess) -> Iterator[tuple[str, str]]:
    """Yield (rank, variable) of the ranks that are one variable, taken once."""
    for rank, form in access.projection:
        for name, factor in form.terms:
            if len(form.terms) == 1 and factor == 1:
                yield rank, name


def _through_tensors(
    einsums: Sequence[Einsum], exchanged: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[Member, Member]]:
    for tensor, users in sorted(exchanged.items(), key=lambda item: (item[1], item[0])):
        for one, other in pairwise(users):
            mine = dict(ranks_of(einsums[one].access(tensor)))
            its = dict(ranks_of(einsums[other].access(tensor)))
            yield from (((one, mine[r]), (other, its[r])) for r in mine if r in its)


def _by_name(einsums: Sequence[Einsum]) -> Iterator[tuple[Member, Member]]:
    last: dict[str, int] = {}
    for number, einsum in enumerate(einsums):
        for name in einsum.bounds:
            if name in last:
                yield (last[name], name), (number, name)
            last[name] = number


def _named(einsums: Sequence[Einsum], classes: Mapping[Member, frozenset[Member]]) -> LoopNames:
    names: dict[frozenset[Member], str] = {}
    for number, einsum in enumerate(einsums):
        for variable in einsum.bounds:
            members = classes[number, variable]
            if members not in names:
                name = variable
                while name in names.values():
                    name += "'"
                names[members] = name
    return tuple({v: names[classes[i, v]] for v in e.bounds} for i, e in enumerate(einsums))
