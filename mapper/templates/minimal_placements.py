"""Placements that hold no more than they must: if any placement has a mapping, one of these has.

To take a holder out of a mapping frees room, and the loops around it stand in one gap that allows
all that both allowed. It can break a rule in few ways: a set of a deeper memory may name this one;
tile_shape is about the first holder of its memory; no_resend_to_below of a holder above would reach
down to the next holder of the tensor. There, and for the outermost holder, nothing is left out.
(Uneven loops and lanes do not change places, so that for uneven tiles this is no proof.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tilewright.arch.components.components import PlacementRules, TensorHolder, Toll
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.workload.einsum import Einsum

_Kept = dict[str, tuple[tuple[str, ...], PlacementRules]]
_Holds = tuple[bool, ...]  # the ways in which a level may hold a tensor or not


@dataclass(frozen=True, slots=True)
class _Level:
    """A holder with the rules it has below what the levels above keep.

    `held`: tensors that these hold; `is_named`: by the rules of a deeper holder.
    """

    component: TensorHolder
    rules: PlacementRules
    held: frozenset[str]
    is_named: bool
    sent_once: frozenset[str]  # by a holder above

    def ways(self, tensor: str, backed: frozenset[str]) -> _Holds:
        """Return whether the level may hold a tensor, and whether it may do without."""
        is_toll = isinstance(self.component, Toll)
        if tensor in self.rules.back and tensor in self.held:
            return ()
        if is_toll and tensor not in self.held:
            return (False,)
        must = tensor in self.rules.keep | self.rules.back
        may = must or tensor in self.rules.may_keep
        if tensor in backed:
            return (True,) if may else ()
        return tuple(way for way, is_open in ((False, not must), (True, may)) if is_open)

    def helps(self, tensor: str) -> bool:
        """Tell whether it can help that the level holds a tensor although it need not."""
        is_first = tensor not in self.held
        return is_first or self.is_named or bool(self.rules.tile_shape) or tensor in self.sent_once


def sparse_placements(
    components: Sequence[TensorHolder], einsum: Einsum, backed: frozenset[str] = frozenset()
) -> Iterator[Placement]:
    """Enumerate them, those that hold little first; arguments as of `placements`."""

    def ways(level: _Level, tensor: str, open_: _Holds) -> _Holds:
        return open_[:1] if len(open_) > 1 and not level.helps(tensor) else open_

    yield from _placed(components, einsum, backed, ways)


def placement_like(
    components: Sequence[TensorHolder], einsum: Einsum, backed: frozenset[str], other: Placement
) -> Placement | None:
    """Return the placement that keeps what `other` keeps; None if the rules do not allow it."""
    kept = dict(other.kept)

    def ways(level: _Level, tensor: str, open_: _Holds) -> _Holds:
        wanted = tensor in kept.get(level.component.name, ())
        return (wanted,) if wanted in open_ else ()

    return next(_placed(components, einsum, backed, ways), None)


def _placed(
    components: Sequence[TensorHolder],
    einsum: Einsum,
    backed: frozenset[str],
    ways: Callable[[_Level, str, _Holds], _Holds],
) -> Iterator[Placement]:
    """Enumerate the placements in which each level holds each tensor in one of some `ways`."""
    below = [frozenset[str]().union(*(c.tensors.names for c in components[i + 1 :]))
             for i in range(len(components))]  # fmt: skip

    def extend(kept: _Kept) -> Iterator[Placement]:
        held = frozenset(tensor for tensors, _ in kept.values() for tensor in tensors)
        if len(kept) == len(components):
            if held >= set(einsum.tensors):
                named = tuple((name, tensors) for name, (tensors, _) in kept.items())
                yield Placement(named, tuple(rules for _, rules in kept.values()))
            return
        component = components[len(kept)]
        above = {name: frozenset(tensors) for name, (tensors, _) in kept.items()}
        level = _Level(
            component, component.tensors.resolve(above), held,
            bool({component.name, "Above"} & below[len(kept)]),
            frozenset[str]().union(*(rules.no_resend_to_below for _, rules in kept.values())),
        )  # fmt: skip
        is_first = not kept and not isinstance(component, Toll)
        first = backed if is_first else frozenset[str]()
        options = [ways(level, t, level.ways(t, first)) for t in einsum.tensors]
        for chosen in product(*options):
            tensors = tuple(t for t, holds in zip(einsum.tensors, chosen, strict=True) if holds)
            yield from extend({**kept, component.name: (tensors, level.rules)})

    yield from extend({})
