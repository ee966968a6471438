"""The two sets of conventions: one field for each point where they differ.

`default` counts what a machine does (theory/model.md §9); `accelforge` gives the numbers of
accelforge 1.0.467. docs/conventions.md works an example of each point by hand. This module alone
knows the names of the sets: the mapspace and the searches read the field of the point that
matters to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from tilewright.arch.components.components import Component, SpatialDim
from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flat import instances, instances_accelforge
from tilewright.arch.flattening.switches import Switch, emptied, passed_by
from tilewright.mapper.mapping.mapping import Temporal
from tilewright.mapper.model.copies import CountedPath, source_moves_up, source_to_destination
from tilewright.mapper.model.occupancy.capacity import (
    Copy,
    SharedLoops,
    loops_above_exchanged,
    loops_above_the_split,
    one_per_einsum,
    one_per_storage,
)
from tilewright.mapper.model.occupancy.distributed import PlacesAtWork, at_least_one, in_proportion
from tilewright.mapper.model.offsets import EinsumRule, offsets_add, offsets_move
from tilewright.mapper.model.paths.loops import PathLoop, average_turns, temporal_steps
from tilewright.mapper.model.paths.nest import (
    SinkRule,
    StopRule,
    TensorNest,
    no_loop_sinks,
    some_loop_sinks,
    stop_at_any_holder,
    stop_unless_adjacent,
)
from tilewright.mapper.model.paths.path import Path
from tilewright.mapper.model.paths.view import IRRELEVANT, Count, EinsumView, lowest_terms
from tilewright.mapper.model.traffic.messages import hops_of_messages
from tilewright.mapper.model.traffic.network import Hops, hops_of
from tilewright.mapper.model.traffic.padded_counts import without_padding
from tilewright.mapper.model.traffic.reuse import Traffic, even_traffic
from tilewright.mapper.model.traffic.uneven import exact_traffic

Loops = dict[int, PathLoop]


@dataclass(frozen=True, slots=True)
class Conventions:
    """A set of rules of the model and the mapspace, one field per point where the two sets differ.

    The two are "default" (what a machine does) and "accelforge". A fact that follows from a
    function of the model is a property.

    Functions of the model:

    - `first_tiles`: treats the field initial_tile_shape of loops.
    - `traffic`, `hops`, `steps`, `used`: count uneven tiles in reads and writes, network hops,
      steps in time and instances in use; `hops` also decides which messages the links of a network
      carry.
    - `stops`: the holders at which a tile stops to shrink with the loops below; `sinks`: whether
      spatial loops that the tensor sees below the holder prevent that (nest.py).
    - `copy`: the reads and writes of a copy Einsum, which moves a tensor and computes nothing.
    - `einsum`: the effect of constants in indices on tile sizes.
    - `shared`: the loops that two Einsums have in common; `tile`: whether two Einsums share the
      tile of a Storage that both use (capacity.py).
    - `places`: instances at work of a memory spread over an Array.
    - `gate`: the part of a gateable fanout that leaks; `grid_gate`: the part of a component inside
      an Array that leaks, per gateable dimension of the grid.
    - `instances`: the instances of a component that have area and leak.
    - `switch`: the replacement of a disabled component.

    Facts about the mapspace:

    - `honours_tile_shape`: tensors.tile_shape restricts mappings.
    - `no_refetch_covers_spatial`: no_refetch_from_above forbids spatial loops, too.
    - `all_loop_bounds`: every loop bound of a file restricts spatial loops, also a bound on a set
      of tensors (spatial_choices.bounds_in_effect).
    - `backing_above_loops`: no loop is above the outermost holder of a tensor.
    - `copies_hold_below_backing`: a copy Einsum holds its tensors in every memory that must keep
      them; else only above the deepest component that is some tensor's outermost holder.
    - `spatial_loops_in_file_order`: the spatial loops of a fanout have the order of the file; else
      below a Network the last one is the outermost.
    - `equal_instances_exchange`: only Einsums with equal n_instances exchange tensors on chip.
    - `checks_indices`: an index that leaves its rank is an error, unless the rank is padded.
    - `complete_reads`: no Einsum reads a tensor before it is complete, and no sums stay divided
      among the lanes above the outermost holder of an output.
    """

    name: str
    first_tiles: Callable[[Path], Path]
    traffic: Callable[[TensorNest], list[Traffic]]
    hops: Callable[[TensorNest], list[Hops]]
    steps: Callable[[Loops, EinsumView], Count]
    used: Callable[[PathLoop], Count]
    stops: StopRule
    sinks: SinkRule
    copy: Callable[[Path, EinsumView], CountedPath]
    einsum: EinsumRule
    shared: SharedLoops
    tile: Copy
    places: PlacesAtWork
    gate: Callable[[SpatialDim, Count], float]
    grid_gate: Callable[[Component, SpatialDim, Count], float]
    instances: Callable[[Component], int]
    switch: Switch
    honours_tile_shape: bool
    no_refetch_covers_spatial: bool
    all_loop_bounds: bool
    backing_above_loops: bool
    copies_hold_below_backing: bool
    spatial_loops_in_file_order: bool
    equal_instances_exchange: bool
    complete_reads: bool
    checks_indices: bool

    @property
    def exact_remainders(self) -> bool:
        """Whether each tile counts with its own size, also a smaller last one.

        Else uneven loops count with their average number of turns (theory/imperfect.md §6).
        """
        return self.traffic is _exact

    @property
    def links_carry_all_rounds(self) -> bool:
        """Whether the load of a network's links adds the messages of all rounds of the loops above.

        Else it is that of one round, as accelforge counts.
        """
        return self.hops is hops_of_messages

    @property
    def adjacent_holders_shrink(self) -> bool:
        """Whether the tiles of holders with no loop between them shrink with the loops below all.

        Else a tile keeps its size at the next holder of any tensor (docs/conventions.md §4).
        """
        return self.stops is stop_unless_adjacent

    @property
    def loops_sink(self) -> bool:
        """Whether a holder written below spatial loops of a deeper component keeps its tile's size.

        The tensor then sees these loops below the holder, so no loop below shrinks the tile.
        """
        return self.sinks is some_loop_sinks

    @property
    def shared_tile_counts_once(self) -> bool:
        """Whether Einsums that use the same Storage node reserve its tile once, not once each."""
        return self.tile is one_per_storage

    @property
    def whole_places(self) -> bool:
        """Whether an instance of a memory spread over an Array is at work as a whole or not at all.

        Else a fraction of an instance may work.
        """
        return self.places is at_least_one


def _as_given(path: Path) -> Path:
    return path


def _without_first_tiles(path: Path) -> Path:
    steps = tuple(
        replace(step, initial_tile_shape=None) if isinstance(step, Temporal) else step
        for step in path.steps
    )
    return replace(path, steps=steps)


def _exact(nest: TensorNest) -> list[Traffic]:
    """Return exact counts; with even tiles alone the closed form gives them."""
    if all(loop.even for loop in nest.loops.values()):
        return without_padding(even_traffic(nest, _whole(nest)), nest)
    return without_padding(exact_traffic(nest), nest)


def _whole(nest: TensorNest) -> Mapping[int, Count]:
    return {place: loop.turns for place, loop in nest.loops.items()}


def _average(nest: TensorNest) -> list[Traffic]:
    """Return counts of average tiles (theory/imperfect.md §6)."""
    return even_traffic(nest, _average_of(nest))


def _average_hops(nest: TensorNest) -> list[Hops]:
    return hops_of(nest, _average_of(nest))


def _average_of(nest: TensorNest) -> Mapping[int, Count]:
    """Return the number of turns of each loop, by its place in the path, on average.

    Rounded up for a variable that stands alone in every index and is irrelevant to the tensor.

    Source: theory/imperfect.md §6.
    """
    simple, relevance = nest.view.simple_variables, nest.tensor.relevance
    return {
        place: average_turns(
            loop, loop.variable in simple and relevance[loop.variable] == IRRELEVANT
        )
        for place, loop in nest.loops.items()
    }


def _whole_steps(loops: Loops, view: EinsumView) -> Count:
    steps = 1
    if all(loop.even for loop in loops.values()):
        for loop in loops.values():
            if loop.spatial is None:
                steps *= loop.outer // loop.tile
        return steps
    for name, bound in view.einsum.bounds.items():
        variable_loops = [loop for loop in loops.values() if loop.variable == name]
        steps *= temporal_steps(variable_loops, bound)
    return steps


def _average_steps(loops: Loops, _view: EinsumView) -> Count:
    steps: Count = 1
    for loop in loops.values():
        if loop.spatial is None:
            steps *= average_turns(loop, rounds_up=False)
    return lowest_terms(Fraction(steps))


def _whole_turns(loop: PathLoop) -> Count:
    return loop.turns


def _average_lanes(loop: PathLoop) -> Count:
    return average_turns(loop, rounds_up=False)


def _used_part(dim: SpatialDim, used: Count) -> float:
    return float(used) / dim.fanout


def _used_part_twice(dim: SpatialDim, used: Count) -> float:
    """Return used / fanout * usage_scale / fanout: AccelForge divides by the fanout twice.

    The share of a gateable fanout that leaks (theory/model.md §5.2).
    """
    return float(used) / dim.fanout * dim.usage_scale / dim.fanout


def _places_used(component: Component, grid: SpatialDim, used: Count) -> float:
    """Return the share of a distributed component's instances that are switched on.

    `used`: lanes of the grid's dimension in use. An instance is on as a whole or off. 1 for a
    component that is not distributed along the dimension.
    """
    for dim in component.physical_spatial:
        if dim.name == grid.name and dim.fanout > 1:
            return math.ceil(Fraction(used) * dim.fanout / grid.fanout) / dim.fanout
    return 1.0


def _grid_used_twice(_component: Component, grid: SpatialDim, used: Count) -> float:
    return _used_part_twice(grid, used)


DEFAULT = Conventions(
    name="default",
    first_tiles=_as_given,
    traffic=_exact,
    hops=hops_of_messages,
    steps=_whole_steps,
    used=_whole_turns,
    stops=stop_unless_adjacent,
    sinks=some_loop_sinks,
    copy=source_to_destination,
    einsum=offsets_move,
    shared=loops_above_the_split,
    tile=one_per_storage,
    places=at_least_one,
    gate=_used_part,
    grid_gate=_places_used,
    instances=instances,
    switch=passed_by,
    honours_tile_shape=True,
    no_refetch_covers_spatial=True,
    all_loop_bounds=True,
    backing_above_loops=True,
    copies_hold_below_backing=True,
    spatial_loops_in_file_order=True,
    equal_instances_exchange=True,
    complete_reads=True,
    checks_indices=True,
)
ACCELFORGE = Conventions(
    name="accelforge",
    first_tiles=_without_first_tiles,
    traffic=_average,
    hops=_average_hops,
    steps=_average_steps,
    used=_average_lanes,
    stops=stop_at_any_holder,
    sinks=no_loop_sinks,
    copy=source_moves_up,
    einsum=offsets_add,
    shared=loops_above_exchanged,
    tile=one_per_einsum,
    places=in_proportion,
    gate=_used_part_twice,
    grid_gate=_grid_used_twice,
    instances=instances_accelforge,
    switch=emptied,
    honours_tile_shape=False,
    no_refetch_covers_spatial=False,
    all_loop_bounds=False,
    backing_above_loops=False,
    copies_hold_below_backing=False,
    spatial_loops_in_file_order=False,
    equal_instances_exchange=False,
    complete_reads=False,
    checks_indices=False,
)
_BY_NAME = {conventions.name: conventions for conventions in (DEFAULT, ACCELFORGE)}


def conventions_called(name: str) -> Conventions:
    """Return the conventions of the given name, "default" or "accelforge".

    Raises TilewrightError for any other name.
    """
    conventions = _BY_NAME.get(name)
    if conventions is None:
        raise TilewrightError(
            "unknown conventions", value=name, instead=f"one of: {', '.join(_BY_NAME)}"
        )
    return conventions
