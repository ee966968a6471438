"""Enumerate placements: all, or those that hold no more than they must.

If any placement has a mapping, one that holds no more than it must has one: to take a holder out of
a mapping frees capacity, and the loops around it stand in one gap that allows all that both gaps
allowed. Three rules may break: a set of a deeper memory may name the holder's memory; tile_shape
applies to the first holder of its memory; no_resend_to_below of a holder above would reach down to
the next holder of the tensor. In these cases, and for the outermost holder, nothing is left out.
(Uneven loops and lanes do not change places, so that for uneven tiles this is no proof.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tilewright.arch.components.components import PlacementRules, TensorHolder, Toll
from tilewright.mapper.templates.placement import KeptTensors, Placement, placement_of
from tilewright.mapper.workload.einsum import Einsum

_Holds = tuple[bool, ...]  # the legal answers to: does this level hold the tensor?


@dataclass(frozen=True, slots=True)
class _HolderLevel:
    """A memory or Toll with its rules, given the tensors that the levels above keep.

    `tensors_above`: tensors kept above; `is_named`: the rules of a deeper component name this one;
    `sent_once`: tensors under no_resend_to_below of a component above.
    """

    component: TensorHolder
    rules: PlacementRules
    tensors_above: frozenset[str]
    is_named: bool
    sent_once: frozenset[str]

    def options(self, tensor: str, backed: frozenset[str]) -> _Holds:
        """Return the legal choices for a tensor at this level: holding it (True) or not (False).

        Both, one or none. `backed`: tensors that this level must keep if it may.
        """
        is_toll = isinstance(self.component, Toll)
        if tensor in self.rules.back and tensor in self.tensors_above:
            return ()
        if is_toll and tensor not in self.tensors_above:
            return (False,)
        must = tensor in self.rules.keep | self.rules.back
        may = must or tensor in self.rules.may_keep
        if tensor in backed:
            return (True,) if may else ()
        return tuple(holds for holds, is_legal in ((False, not must), (True, may)) if is_legal)

    def helps(self, tensor: str) -> bool:
        """Tell whether holding a tensor without need may make a mapping possible.

        So if it is the tensor's first holder, or rules depend on the holder.
        """
        is_first = tensor not in self.tensors_above
        return is_first or self.is_named or bool(self.rules.tile_shape) or tensor in self.sent_once


def placements(
    components: Sequence[TensorHolder], einsum: Einsum, backed: frozenset[str] = frozenset()
) -> Iterator[Placement]:
    """Enumerate the ways to keep the tensors of an Einsum in memories and Tolls, in a fixed order.

    Each way obeys keep, may_keep and back of each component, and keeps every tensor somewhere
    (theory/model.md §8.1). `components`: memories and Tolls of the path, outermost first.
    `backed`: tensors that the outermost memory must keep, such as the intermediates of an unfused
    mapping.
    """
    return _placed(components, einsum, backed, lambda _level, _tensor, options: options, _most)


def _most(holds: _Holds) -> tuple[int, tuple[bool, ...]]:
    """Return a sort key of choices of tensors: many come first, of equally many the first ones."""
    return -sum(holds), tuple(not each for each in holds)


def sparse_placements(
    components: Sequence[TensorHolder], einsum: Einsum, backed: frozenset[str] = frozenset()
) -> Iterator[Placement]:
    """Enumerate placements that hold no more tensors than they must, those that hold little first.

    A placement says which tensors each memory and Toll keeps. If any placement has a mapping with
    even tiles, one of these has, so that they suffice to decide whether there is a mapping.
    `components`: memories and Tolls of the path, outermost first; `backed`: tensors that the
    outermost memory must keep.
    """

    def fewest(level: _HolderLevel, tensor: str, options: _Holds) -> _Holds:
        return options[:1] if len(options) > 1 and not level.helps(tensor) else options

    yield from _placed(components, einsum, backed, fewest)


def placement_like(
    components: Sequence[TensorHolder], einsum: Einsum, backed: frozenset[str], model: Placement
) -> Placement | None:
    """Return the placement that keeps the same tensors as `model`, or None if the rules forbid it.

    A placement says which tensors each memory and Toll keeps. `components`: memories and Tolls of
    the path, outermost first, whose rules (keep, may_keep, back) may differ from those that led to
    `model`; `backed`: tensors that the outermost memory must keep. Components that `model` does
    not name keep nothing.
    """
    kept_tensors = dict(model.kept_tensors)

    def as_in_model(level: _HolderLevel, tensor: str, options: _Holds) -> _Holds:
        holds = tensor in kept_tensors.get(level.component.name, ())
        return (holds,) if holds in options else ()

    return next(_placed(components, einsum, backed, as_in_model), None)


def _placed(
    components: Sequence[TensorHolder],
    einsum: Einsum,
    backed: frozenset[str],
    choose: Callable[[_HolderLevel, str, _Holds], _Holds],
    order: Callable[[_Holds], Any] | None = None,
) -> Iterator[Placement]:
    """Yield placements, decided from the outermost component down.

    `components`: those that may hold tensors. `backed`: tensors that the outermost memory must
    hold. `choose`: picks, for each level and tensor, from the legal options. `order`: sort key of
    the choices of a level; None: as they come.
    """
    is_named = [_is_named(c, components[i + 1 :]) for i, c in enumerate(components)]

    def extend(kept_tensors: KeptTensors) -> Iterator[Placement]:
        if len(kept_tensors) == len(components):
            if _all_kept(kept_tensors) >= set(einsum.tensors):
                yield placement_of(kept_tensors)
            return
        depth = len(kept_tensors)
        level = _level_below(kept_tensors, components[depth], is_named[depth])
        is_first = not kept_tensors and not isinstance(level.component, Toll)
        first = backed if is_first else frozenset[str]()
        options = [choose(level, t, level.options(t, first)) for t in einsum.tensors]
        choices = product(*options)
        for chosen in choices if order is None else sorted(choices, key=order):
            tensors = tuple(t for t, holds in zip(einsum.tensors, chosen, strict=True) if holds)
            yield from extend({**kept_tensors, level.component.name: (tensors, level.rules)})

    yield from extend({})


def _all_kept(kept_tensors: KeptTensors) -> frozenset[str]:
    return frozenset(tensor for tensors, _ in kept_tensors.values() for tensor in tensors)


def _is_named(component: TensorHolder, deeper: Sequence[TensorHolder]) -> bool:
    """Tell whether the rules of a deeper component name this one."""
    names = frozenset[str]().union(*(c.tensors.names for c in deeper))
    return bool({component.name, "Above"} & names)


def _level_below(
    kept_tensors: KeptTensors, component: TensorHolder, is_named: bool
) -> _HolderLevel:
    """Return the next component below `kept_tensors`, with its rules given what these keep."""
    tensors_above = {name: frozenset(tensors) for name, (tensors, _) in kept_tensors.items()}
    return _HolderLevel(
        component,
        component.tensors.resolve(tensors_above),
        _all_kept(kept_tensors),
        is_named,
        frozenset[str]().union(*(rules.no_resend_to_below for _, rules in kept_tensors.values())),
    )
