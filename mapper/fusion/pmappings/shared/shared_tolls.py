"""Find where among the shared loops a tensor passes Tolls above the lowest tensor on chip.

A Toll charges what passes it. In the region it stands right above the first holder that its tensor
is passed on to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tilewright.arch.components.components import Toll
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, TollCrossing


class TollPassage(NamedTuple):
    """Say where a tensor passes a Toll among the fused loops of an Einsum.

    A Toll is hardware that charges what passes it. `toll`: the tensor and the Toll. `region_place`:
    number of the holder of the region right below it; one past the last if all holders are above.
    `lanes_above`: None: the Toll stands right above that holder; a number n: it stands right below
    the n outermost spatial loops, and above the other spatial loops over that holder.
    """

    toll: TollCrossing
    region_place: int
    lanes_above: int | None


def tolls_in(flats: Iterable[FlatArch]) -> tuple[str, ...]:
    """Return the names of the Tolls on some paths of components, each once."""
    tolls = (c.name for flat in flats for c in flat.components if isinstance(c, Toll))
    return tuple(dict.fromkeys(tolls))


def toll_passages(problem: Problem, inner: InnerProgram) -> list[TollPassage]:
    """Return where tensors pass Tolls above the lowest tensor on chip, outermost first.

    The lowest tensor on chip is the one whose backing holder ends the region: the holders below the
    outermost memory, among which fused loops stand. A Toll is put right above the next holder of
    its tensor in a memory nearer to the compute, or above the first spatial loop of a component
    nearer to the compute if that comes first. The places serve to write the mapping and to note
    contested tensors; costs are charged elsewhere.
    """
    region = inner.template.region
    passages: list[TollPassage] = []
    for toll in tolls_above(inner):
        level = problem.level(toll.component)
        holders_below = (i for i, holder in enumerate(region) if _leads_to(problem, toll, holder))
        place = next(holders_below, len(region))
        deeper = (n for n, loop in enumerate(inner.spatial_loops) if loop.position[0] > level)
        first = next(deeper, None)
        if first is not None and inner.spatial_loops[first].region_place <= place:
            passages.append(TollPassage(toll, inner.spatial_loops[first].region_place, first))
        else:
            passages.append(TollPassage(toll, place, None))
    return sorted(passages, key=lambda passage: passage.region_place)


def _leads_to(problem: Problem, toll: TollCrossing, holder: Holder) -> bool:
    """Tell whether a non-backing holder below a Toll holds the tensor that passes it."""
    deeper = problem.level(holder.component) > problem.level(toll.component)
    return toll.tensor == holder.tensor and deeper and not holder.backing


def tolls_above(inner: InnerProgram) -> list[TollCrossing]:
    """Return the (tensor, Toll) crossings above the lowest tensor on chip."""
    slots = inner.program.slot_sequence
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    lowest = fills[inner.template.lowest_on_chip]
    return [slot for slot in slots[:lowest] if isinstance(slot, TollCrossing)]
