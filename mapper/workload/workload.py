"""Workloads: Einsums that share tensors, and the names that each brings to an architecture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import Where
from tilewright.arch.names import did_you_mean
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import WorkloadError

_FEW = 8  # names in the short form of a workload


@dataclass(frozen=True, slots=True)
class OutsideIndex:
    """An index that leaves its rank further than the rank is padded: an error, not yet raised.

    `what`, `where`, `value`, `instead`: those of the error.
    """

    what: str
    where: Where | None
    value: str
    instead: str


@dataclass(frozen=True)
class Workload:
    """A cascade of Einsums in the order in which they run.

    `einsums`: the computations; a tensor that one writes and a later one reads joins them.
    `scopes`: Einsum name to the names (tensors, sets, sizes) that expressions of an architecture
    may use for it. `file`: name of the source, for messages. `outside`: indices that leave their
    ranks, which the default conventions refuse.
    """

    einsums: tuple[Einsum, ...]
    scopes: Mapping[str, Scope] = field(repr=False)
    file: str = field(default="", compare=False)
    outside: tuple[OutsideIndex, ...] = field(default=(), compare=False, repr=False)

    def __repr__(self) -> str:
        names = [einsum.name for einsum in self.einsums]
        few = names if len(names) <= _FEW else [*names[: _FEW - 1], f"… ({len(names)})"]
        return f"<Workload: {', '.join(few)}>"

    def __str__(self) -> str:
        """Return the Einsums with their sizes and tensors, for a person to read."""
        from tilewright.mapper.workload.workload_render import cascade_text

        return cascade_text(self).rstrip()

    def check_indices(self) -> None:
        """Raise WorkloadError, with its range, for the first index that leaves its rank.

        Public files for AccelForge have such indices, so reading a file does not refuse them.
        """
        for index in self.outside:
            raise WorkloadError(
                index.what, where=index.where, value=index.value, instead=index.instead
            )

    def einsum(self, name: str) -> Einsum:
        """Return an Einsum by name.

        Raises WorkloadError, with close names, if the workload has none of this name.
        """
        einsum = self._by_name.get(name)
        if einsum is None:
            instead = did_you_mean(name, list(self._by_name))
            raise WorkloadError(f"the workload has no Einsum {name!r}", value=name, instead=instead)
        return einsum

    @cached_property
    def _by_name(self) -> dict[str, Einsum]:
        return {einsum.name: einsum for einsum in self.einsums}

    def scope(self, einsum: Einsum | str) -> Scope:
        """Return the names that an Einsum brings to the expressions of an architecture.

        `einsum`: the Einsum or its name. Raises WorkloadError if the workload does not have it.
        """
        name = einsum if isinstance(einsum, str) else einsum.name
        return self.scopes[self.einsum(name).name]

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of all tensors of all Einsums, in order of first use."""
        return tuple(dict.fromkeys(t for einsum in self.einsums for t in einsum.tensors))

    @property
    def operations(self) -> int:
        """Number of operations of all Einsums with all their instances; copy Einsums have none."""
        return sum(e.operations * e.n_instances for e in self.einsums if not e.is_copy)


def in_one_order(einsums: Iterable[Einsum]) -> Iterator[Einsum]:
    """Yield Einsums with the ranks of each tensor in the order in which they stand first.

    An index is found by the name of its rank, so that its place says nothing; but arrays have one.
    By its place it is found where a further read names other ranks: `A[m, k] * A[n, k]`.
    """
    order: dict[str, tuple[str, ...]] = {}
    for einsum in einsums:
        accesses = list(einsum.accesses)
        for place, access in enumerate(accesses):
            forms = dict(access.projection)
            ranks = order.setdefault(access.values_of, tuple(forms))
            if ranks != tuple(forms) and set(ranks) == set(forms):
                accesses[place] = replace(access, projection=tuple((r, forms[r]) for r in ranks))
        is_ordered = tuple(accesses) == einsum.accesses
        yield einsum if is_ordered else replace(einsum, accesses=tuple(accesses))
