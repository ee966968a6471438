"""The mappings of one Einsum that a search on a grid of elements looks at (theory/grid.md §7).

They are shares of rank variables over the axes, at most one loop in time above the tiles (two where
tiles of one loop fit no element), one or two buffers, resident or streamed weights, tiles that go
round rings, the tensor whose values the engine takes from its register, the scheme of the
reduction, and the order of the loops on a tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod

from tilewright.arch.components.components import PlacementRules
from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.grid_constraints import NO_CONSTRAINTS, GridConstraints
from tilewright.mapper.grid.grid_shares import (
    Share,
    least_work_on_fewer,
    least_work_shares,
    local_sizes,
    near_least_shares,
    padded_sizes,
    shares_by_work,
    shares_within,
)
from tilewright.mapper.grid.number_types import (
    dtype_of,
    in_elements,
    tile_values_per_wavelet,
    words_of_values,
)
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.grid.rings.ring_options import RingQuestion, ring_options
from tilewright.mapper.grid.schemes.line_costs import PUBLISHED_COSTS, LineCosts
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.mapper.grid.schemes.scheme_choices import schemes_of, shared_schemes
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping

MOST_DIVISIONS = 256
"""Divisions of the work that a wide mapspace has."""


@dataclass(frozen=True, slots=True)
class TimeTile:
    """The loop in time above the tiles that pass: `size` values of a rank variable at a time."""

    variable: str
    size: int


@dataclass(frozen=True, slots=True)
class LoopOrder:
    """The loops of the work on a tile, by rank variable, outermost first.

    `above`: those above the Storage of the engine's register, all of them without one; `below`: the
    loops of the vector operation, which index the output and not the input in the register.
    """

    above: tuple[str, ...]
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GridFamily:
    """Mappings that differ in the scheme of the reduction and the loops on a tile only.

    `shares`: how elements divide the iteration space, in the order of the Spatial loops. `tile`:
    the loop in time above the tiles that pass, None if each element works on its whole share at
    once; `outer`: a further loop in time around it, None for none. `resident`: inputs that the
    elements hold before the run. `scalar`: the input in the engine's register, None for none.
    `buffers`: 1, or 2 for each tensor that passes in tiles. `shared`: whether all elements that add
    up a tile of the output get the finished tile. `shifts`: the inputs whose tiles go round rings
    of elements, each with the axis.
    """

    shares: tuple[Share, ...]
    tile: TimeTile | None
    resident: frozenset[str]
    scalar: str | None
    buffers: int
    shared: bool = False
    shifts: tuple[tuple[str, Axis], ...] = ()
    outer: TimeTile | None = None

    @property
    def elements(self) -> int:
        """The number of elements that work."""
        return prod(share.count for share in self.shares)

    @property
    def loops(self) -> tuple[TimeTile, ...]:
        """The loops in time above the tiles, outermost first."""
        return tuple(loop for loop in (self.outer, self.tile) if loop is not None)

    @property
    def shifted(self) -> frozenset[str]:
        """The inputs whose tiles go round rings."""
        return frozenset(tensor for tensor, _ in self.shifts)


@dataclass(frozen=True, slots=True)
class GridChoice:
    """One mapping of the mapspace: its family, the scheme of the reduction, the loops on a tile.

    `order`: of the loops; None for that of `GridMapspace.row_order`.
    """

    family: GridFamily
    reduction: str
    order: LoopOrder | None = None


@dataclass(frozen=True)
class GridMapspace:
    """The mapspace of one Einsum on a grid under constraints.

    `staying`: tensors of the Einsum that other Einsums leave in the elements' memories for it, or
    that it leaves there for others. `costs`: of reductions on the machine, for which trees are
    made. `nests`: whether its mappings have two loops in time above the tiles, not one or none.
    `is_wide`: whether elements may have more work than the least: the first `MOST_DIVISIONS`
    divisions by work. `has_parts`: whether a part of the grid may do all of the work.
    """

    grid: Grid
    einsum: Einsum
    constraints: GridConstraints = NO_CONSTRAINTS
    staying: frozenset[str] = frozenset()
    costs: LineCosts = PUBLISHED_COSTS
    nests: bool = False
    is_wide: bool = False
    has_parts: bool = False

    @cached_property
    def computed(self) -> Einsum:
        """The Einsum with the width of its partial sums in the elements."""
        return in_elements(self.einsum, self.grid)

    @cached_property
    def may_pair(self) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Whether values of each input, then of the output, go in pairs if their number is even.

        First where each element has its own results, then where elements add them up.
        """
        einsum = self.computed
        accesses = (*einsum.inputs, einsum.outputs[0])
        alone, added = (
            tuple(
                tile_values_per_wavelet(2, access, einsum, is_added=is_added) > 1
                for access in accesses
            )
            for is_added in (False, True)
        )
        return alone, added

    @property
    def narrows(self) -> bool:
        """Whether sums of f32 become f16 where they leave the elements."""
        return self.computed is not self.einsum

    def families(self) -> Iterator[GridFamily]:
        """Yield all families of choices, in a fixed order.

        Raises InfeasibleMapping if the constraints name no rank variable of the Einsum, or if no
        shares obey them.
        """
        self.constraints.check(self.einsum)
        for shares in self.shares():
            yield from self.families_of(shares)

    def families_of(self, shares: tuple[Share, ...]) -> Iterator[GridFamily]:
        """Yield the families of choices with one division of the work, in a fixed order."""
        local = local_sizes(self.einsum, shares)
        if self.nests:
            yield from self._nested(shares, local)
            return
        for resident, tile, scalar, shared in product(
            self.residence(), self._tiles(local), self.scalars(local), self._sharing(shares)
        ):
            for buffers in self._buffers(tile, resident):
                yield GridFamily(shares, tile, resident, scalar, buffers, shared)
            for shifts in self._shifts(shares, tile, resident):
                yield GridFamily(shares, tile, resident, scalar, 2, shared, shifts)

    def _nested(self, shares: tuple[Share, ...], local: dict[str, int]) -> Iterator[GridFamily]:
        """Yield the families with two loops in time, the outer one over a variable of the output.

        All their tensors have one buffer: two overlap the tiles of one loop.
        """
        for resident, outer, scalar, shared in product(
            self.residence(), self._tiles(local), self.scalars(local), self._sharing(shares)
        ):
            if outer is None or self._is_reduced(outer.variable):
                continue
            for tile in self._tiles({**local, outer.variable: 1}):
                if tile is not None and 1 in self._buffers(tile, resident):
                    yield GridFamily(shares, tile, resident, scalar, 1, shared, outer=outer)

    def members(self, family: GridFamily) -> list[GridChoice]:
        """Return the choices of a family, in a fixed order."""
        return [GridChoice(family, scheme) for scheme in self.reductions(family)]

    def reductions(self, family: GridFamily) -> list[str]:
        """Return the texts of the reduction schemes to try for a family of mappings.

        No two have the same chains. Only one if the constraints name it, or if no elements add up
        together.
        """
        return self.schemes(family, self._output_values(family))

    def schemes(self, family: GridFamily, values: int) -> list[str]:
        """Return what `reductions` does; `values`: of a tile of the output, which it has."""
        key = family.shares, values, family.shared, not family.shifts
        if key not in self._known_reductions:
            self._known_reductions[key] = self._reductions(family, values)
        return self._known_reductions[key]

    @cached_property
    def _known_reductions(self) -> dict[tuple[tuple[Share, ...], int, bool, bool], list[str]]:
        return {}

    def _reductions(self, family: GridFamily, values: int) -> list[str]:
        """Return the schemes for a tile of the output of so many values."""
        words = words_of_values(values, dtype_of(self.computed.outputs[0], self.computed))
        groups = self.groups(family.shares)
        if self.constraints.reduction == "free" or max(groups) == 1:
            elements = prod(share.count for share in family.shares)
            schemes = schemes_of(groups, elements, self.costs.of(words))
            if family.shared and not family.shifts:
                return shared_schemes(schemes, groups, elements, values)
        else:
            wanted = reduction_scheme(self.constraints.reduction)
            schemes = [replace(wanted, line=wanted.line_for(words, self.costs))]
        return [str(replace(scheme, shared=family.shared)) for scheme in schemes]

    def _output_values(self, family: GridFamily) -> int:
        """Return the values of a tile of the output."""
        output, tile = self.einsum.outputs[0], local_sizes(self.einsum, family.shares)
        if output.tensor in self.passing_tensors(family):
            tile.update(tile_sizes(family))
        return output.tile_size(tile)

    def shares(self) -> list[tuple[Share, ...]]:
        """Return the divisions that leave an element the fewest points, then some with a few more.

        They are those of `least_work_shares` and `near_least_shares`, with parts of the grid those
        of `least_work_on_fewer`; in a wide mapspace those of `shares_by_work`. Raises
        InfeasibleMapping if the constraints allow none.
        """
        if self.is_wide:
            return shares_by_work(self.grid, self.einsum, self._allows_shares, MOST_DIVISIONS)
        best = least_work_shares(self.grid, self.einsum, self._allows_shares)
        if not best:
            raise InfeasibleMapping(
                f"no shares of {self.einsum.name} obey the constraints x = {self.constraints.x} "
                f"and y = {self.constraints.y}, and the rules of {self.grid.fanout} (loop_bounds)",
                instead="variables with at least two values, on an axis of two elements, or free",
            )
        near = near_least_shares(self.grid, self.einsum, self._allows_shares, best)
        if not self.has_parts:
            return [*best, *near]
        parts = least_work_on_fewer(self.grid, self.einsum, self._allows_shares)
        return list(dict.fromkeys([*best, *near, *parts]))

    def further_shares(self, points: float, most: int) -> list[tuple[Share, ...]] | None:
        """Return the divisions beside `shares` that leave an element at most so many points.

        None if there are more than `most`.
        """
        allows, known = self._allows_shares, frozenset(self.shares())
        within = shares_within(self.grid, self.einsum, allows, points, most + len(known))
        return None if within is None else [s for s in within if s not in known]

    def _allows_shares(self, axis: str, names: frozenset[str]) -> bool:
        may_share = all(self._may_share(axis, name) for name in names)
        return may_share and self.constraints.allows_shares(axis, names)

    def _may_share(self, axis: str, name: str) -> bool:
        """Return whether elements along an axis may divide a rank variable, by `may_reuse`.

        They have each tensor in common that it does not index, but for inputs that may be there
        before the run.
        """
        dim = self.grid.dimension(axis)
        if dim is None:
            return True
        common = (a for a in self.einsum.accesses if name not in a.rank_variables)
        return all(
            access.tensor in dim.may_reuse
            or (not access.output and (access.persistent or access.tensor in self.staying))
            for access in common
        )

    def _is_reduced(self, name: str) -> bool:
        return name not in self.einsum.outputs[0].rank_variables

    def residence(self) -> list[frozenset[str]]:
        """Return the sets of inputs that the elements may hold before the run, at most two.

        Inputs that another Einsum leaves in the elements are in both. The persistent inputs
        (weights) are in the first, and not in the second: that one streams them. A weight that the
        memory outside must keep is in neither.
        """
        rules = self._host_rules
        weights = frozenset(
            access.tensor
            for access in self.einsum.inputs
            if access.persistent and access.tensor not in rules.keep | self.staying
        )
        there = self.staying - {self.einsum.outputs[0].tensor}
        options = []
        if self.constraints.allows("weights", "resident") or not weights:
            options.append(weights | there)
        may_stream = weights <= (rules.may_keep | rules.keep)
        if weights and may_stream and self.constraints.allows("weights", "streamed"):
            options.append(there)
        return options

    def _tiles(self, local: dict[str, int]) -> list[TimeTile | None]:
        options: list[TimeTile | None] = []
        if self.constraints.allows("tile", "none"):
            options.append(None)
        for name, extent in local.items():
            if self.constraints.allows("tile", name):
                options += [TimeTile(name, size) for size in divisors(extent)[:-1]]
        return options

    def scalars(self, local: Dict[str, int]) -> list[str | None]:
        """Return the inputs that the engine's register may hold.

        None among them: the register is unused. `local`: values of each rank variable in an
        element's share. Only an Einsum of two different inputs uses the register. An input may
        stand there if the vector operation has a loop: an output variable that this input lacks,
        with more than one value in the share. Where none may so (a dot product), each input of a
        sum of products may, and the operation is on one value.
        """
        einsum, register = self.einsum, self.grid.register
        if register is None or len(einsum.inputs) != 2 or len(set(einsum.tensors)) != 3:
            return [None]
        tiled = {name for name, extent in local.items() if extent > 1}
        in_output = tiled & set(einsum.outputs[0].rank_variables)
        usable = [a.tensor for a in einsum.inputs if in_output - set(a.rank_variables)]
        sums = any(self._is_reduced(name) for name in einsum.bounds)
        if not sums or einsum.combine != "*":
            return [None, *usable]
        return [*(usable or [access.tensor for access in einsum.inputs]), None]

    def _buffers(self, tile: TimeTile | None, resident: frozenset[str]) -> list[int]:
        """Return the numbers of buffers that a mapping may have: 1, 2, both or none.

        Without a loop in time 1 is the only number. A loop in which no tensor passes is no choice:
        an empty list. Constraints leave out more.
        """
        if tile is None:
            is_allowed = self.constraints.buffers != 2 and self.constraints.movement != "shift"
            return [1] if is_allowed else []
        if not self.constraints.allows("movement", "broadcast"):
            return []
        if not self.passing(tile, resident):
            return []
        return [number for number in (1, 2) if self.constraints.allows("buffers", number)]

    def _shifts(
        self, shares: tuple[Share, ...], tile: TimeTile | None, resident: frozenset[str]
    ) -> Iterator[tuple[tuple[str, Axis], ...]]:
        """Yield the ways in which tiles of inputs go round rings: these inputs, each with its axis.

        None where the loop in time (`tile`) is over a variable that is not summed, where
        constraints forbid shifts, or without a loop.
        """
        constraints = self.constraints
        if tile is None or not constraints.allows("movement", "shift") or constraints.buffers == 1:
            return
        if self._is_reduced(tile.variable):
            steps = local_sizes(self.einsum, shares)[tile.variable] // tile.size
            yield from ring_options(
                RingQuestion(self.einsum, shares, tile.variable, steps, resident, self.staying)
            )

    def passing_tensors(self, family: GridFamily) -> tuple[str, ...]:
        """Return the tensors of which elements work on another part in turns of a loop in time."""
        resident = family.resident - family.shifted
        passing = self.passing(family.tile, resident)
        if family.outer is None:
            return passing
        return tuple(dict.fromkeys((*self.passing(family.outer, resident), *passing)))

    def passing(self, tile: TimeTile | None, resident: frozenset[str]) -> tuple[str, ...]:
        """Return the tensors of which each turn of the loop needs another tile.

        Those are the tensors indexed by the loop's variable that do not stay in the elements
        (`resident`: inputs that do).
        """
        if tile is None:
            return ()
        return tuple(
            access.tensor
            for access in self.einsum.accesses
            if tile.variable in access.rank_variables
            and access.tensor not in resident
            and not (access.output and self.output_stays)
        )

    @cached_property
    def _host_rules(self) -> PlacementRules:
        return self.grid.host.tensors.resolve({})

    @cached_property
    def output_stays(self) -> bool:
        """Whether elements keep the output: for another Einsum, or as no memory outside may."""
        rules, name = self._host_rules, self.einsum.outputs[0].tensor
        return name in self.staying or name not in rules.keep | rules.may_keep

    def groups(self, shares: tuple[Share, ...]) -> tuple[int, int]:
        """Return how many neighbours along X and along Y add their sums into one output tile.

        It is the product of the counts of summed variables along the axis, 1 without any.
        """
        counts = {"X": 1, "Y": 1}
        for share in shares:
            if self._is_reduced(share.variable):
                counts[share.axis] *= share.count
        return counts["X"], counts["Y"]

    def _sharing(self, shares: tuple[Share, ...]) -> list[bool]:
        """Return the values that `GridFamily.shared` may have.

        True is one only if elements add up a tile, and another Einsum reads the output in the
        elements.
        """
        stays = self.einsum.outputs[0].tensor in self.staying
        return [False, True] if stays and max(self.groups(shares)) > 1 else [False]

    def mapping_of(self, choice: GridChoice) -> Mapping:
        """Return a choice as a mapping: Storages, loops over elements, loops in time, Compute."""
        family = choice.family
        tile = padded_sizes(self.einsum, family.shares)
        nodes: list[Node] = list(self._outside(family))
        for share in family.shares:
            tile[share.variable] //= share.count
            dim = self.grid.dims[0 if share.axis == "X" else 1]
            nodes.append(Spatial(share.variable, tile[share.variable], dim, self.grid.fanout))
        nodes += self._memory(choice)
        order = choice.order or self.row_order(family, {**tile, **tile_sizes(family)})
        nodes += self._work(family, order)
        return Mapping((*nodes, ComputeNode(self.einsum.name, self.grid.compute.name)))

    def _outside(self, family: GridFamily) -> Iterator[Node]:
        names = tuple(
            access.tensor
            for access in self.einsum.accesses
            if access.tensor not in family.resident and not (access.output and self.output_stays)
        )
        if names:
            yield Storage(names, self.grid.host.name)

    def _memory(self, choice: GridChoice) -> Iterator[Node]:
        """Yield the Storages of the elements' memory, each below the loops that change its tile."""
        family = choice.family
        passing = self.passing_tensors(family)
        yield from self._storages(choice, [t for t in self._names() if t not in passing], 1)
        for loop in family.loops:
            yield Temporal(loop.variable, loop.size)
            inner = () if loop is family.tile else self.passing(family.tile, family.resident)
            names = set(self.passing(loop, family.resident - family.shifted)).difference(inner)
            yield from self._storages(
                choice, [t for t in self._names() if t in names], family.buffers
            )

    def _names(self) -> list[str]:
        return list(dict.fromkeys(self.einsum.tensors))

    def _storages(self, choice: GridChoice, names: list[str], buffers: int) -> Iterator[Node]:
        output, memory = self.einsum.outputs[0].tensor, self.grid.memory.name
        shifts = dict(choice.family.shifts) if buffers == 2 else {}
        inputs = tuple(name for name in names if name != output and name not in shifts)
        if inputs:
            yield Storage(inputs, memory, buffers=buffers)
        for name, axis in shifts.items():
            dim = self.grid.dims[0 if axis == "X" else 1]
            yield Storage((name,), memory, buffers=buffers, shift=dim)
        if output in names:
            scheme = "" if choice.reduction == "chain" else choice.reduction
            yield Storage((output,), memory, buffers=buffers, reduction=scheme)

    def _work(self, family: GridFamily, order: LoopOrder) -> Iterator[Node]:
        """Yield the nodes of the work on one tile, from the outermost in."""
        yield from (Temporal(name, 1) for name in order.above)
        if family.scalar is not None and self.grid.register is not None:
            yield Storage((family.scalar,), self.grid.register.name)
        yield from (Temporal(name, 1) for name in order.below)

    def row_order(self, family: GridFamily, tile: Dict[str, int]) -> LoopOrder:
        """Return the loops on a tile in the order of the output's ranks, those summed over inside.

        All that may be are in the vector operation. `tile`: values of each rank variable in a tile.
        """
        taken = self.vector_variables(family.scalar)
        below = (name for name in self.by_output if tile[name] > 1 and name in taken)
        return LoopOrder(tuple(self.outer_loops(family, tile)), tuple(below))

    def outer_loops(self, family: GridFamily, tile: Dict[str, int]) -> list[str]:
        """Return the rank variables of the loops around the vector operation, outermost first.

        Output variables come before summed ones. Variables with one value in the tile have no loop.
        `tile`: values of each rank variable in a tile.
        """
        kept, taken = self.einsum.outputs[0].rank_variables, self.vector_variables(family.scalar)
        names = [name for name in self.by_output if tile[name] > 1 and name not in taken]
        return sorted(names, key=lambda name: name not in kept)

    def vector_variables(self, scalar: str | None) -> frozenset[str]:
        """Return the rank variables of the vector operation: the output's but not the scalar's.

        `scalar`: the input in the engine's register; None: there is no vector operation, an empty
        set.
        """
        if scalar is None:
            return frozenset()
        kept = self.einsum.outputs[0].rank_variables
        return kept - self.einsum.access(scalar).rank_variables

    @cached_property
    def by_output(self) -> list[str]:
        """All rank variables: those of the output first, in the order of its ranks."""
        output = self.einsum.outputs[0]
        ranked = [name for _, form in output.projection for name, _ in form.terms]
        return list(dict.fromkeys([*ranked, *self.einsum.bounds]))


def tile_sizes(family: GridFamily) -> dict[str, int]:
    """Return the values in a tile of the rank variables that a family's loops in time are over."""
    return {loop.variable: loop.size for loop in family.loops}
