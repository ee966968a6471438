"""A bound of a family of mappings in a few sums, before any of them is planned.

It leaves out what differs inside the family (buffers, reduction) and what takes long to find
(conflicts, distances, branches), so that it is never above the bound of a plan of the family
(theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import Share, local_sizes
from tilewright.mapper.grid.number_types import dtype_of, number_types
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.check.route_check import MAX_STREAM
from tilewright.simulator.isa.dsd import DTYPES
from tilewright.simulator.lowering.kernel import LEAST_TURNS, own_operation, scalar_steps
from tilewright.simulator.profiles.profile import Profile


@dataclass(frozen=True)
class QuickBound:
    """Bounds of the families of a mapspace on one machine."""

    space: GridMapspace
    flat: FlatArch
    profile: Profile

    @cached_property
    def leak_power(self) -> float:
        """Leakage in W of all components."""
        return sum(
            c.leak_power * c.parent_fanout * c.own_fanout
            for c in (*self.flat.components, *self.flat.beside)
        )

    @cached_property
    def _point_energy(self) -> float:
        return self.space.einsum.operations * self.space.grid.compute.action("compute").energy

    def energy(self, family: GridFamily) -> float:  # noqa: ARG002 - the same for all families
        """Return joules that every mapping of a family spends, without leakage."""
        return self._point_energy

    def cycles(self, family: GridFamily) -> float:
        """Return cycles that no execution of a mapping of a family goes below.

        Raises InfeasibleMapping if the tiles do not fit an element.
        """
        local = local_sizes(self.space.einsum, family.shares)
        tile = {**local, **({family.tile.variable: family.tile.size} if family.tile else {})}
        if self.words(family) > self.free_words:
            raise InfeasibleMapping(f"{self.space.grid.memory.name} of an element is too small")
        work = self._work(family, local, tile)
        behind = self._behind(family, local, tile, work)
        streams = (
            self._stream(access, family, local) + behind(access.tensor)
            for access in self._streamed(family)
        )
        return max(work + self._transfers(family, local, tile) + self._way(family), *streams, 0.0)

    def _behind(
        self, family: GridFamily, local: Mapping[str, int], tile: Mapping[str, int], work: float
    ) -> Callable[[str], float]:
        """Return the cycles of the last element behind its last word of an input, by tensor.

        They are the work on the last tile that passes, or on all, and then the send of the result.
        """
        passing = self.space.passing(family.tile, family.resident)
        on_tile = prod(tile.values()) * min(self._rates.values())
        sent = 0.0
        if family.buffers == 1 and not self.space.output_stays:
            output = self.space.einsum.outputs[0]
            values = output.tile_size(tile if output.tensor in passing else local)
            sent = self._load + self._words(values)
        return lambda tensor: (on_tile if tensor in passing else work) + sent

    @cached_property
    def _load(self) -> float:
        """Cycles to load the descriptors of an operation."""
        return float(self.profile.descriptor_use_cycles + self.profile.descriptor_load_cycles)

    def _way(self, family: GridFamily) -> float:
        """Return the cycles on the way of the first element's sum: a send and links, each axis."""
        profile = self.profile
        each = profile.dispatch_to_link_cycles + profile.arrival_to_execute_cycles
        groups = [group for group in self.space.groups(family.shares) if group > 1]
        return float(sum(each + (group - 1) * profile.hop_cycles for group in groups))

    def words(self, family: GridFamily) -> int:
        """Return the 16-bit words of an element that the tiles of a family need at least."""
        local = local_sizes(self.space.einsum, family.shares)
        tile = {**local, **({family.tile.variable: family.tile.size} if family.tile else {})}
        passing = self.space.passing(family.tile, family.resident)
        einsum = self.space.einsum
        return sum(
            DTYPES[dtype_of(access, einsum)]
            * (
                family.buffers * access.tile_size(tile)
                if access.tensor in passing
                else access.tile_size(local)
            )
            for access in einsum.accesses
        )

    @cached_property
    def free_words(self) -> int:
        """16-bit words of an element that tiles may use."""
        return (int(self.space.grid.memory.size) // 8 - self.profile.sram_reserved_bytes) // 2

    def _work(self, family: GridFamily, local: Mapping[str, int], tile: Mapping[str, int]) -> float:
        """Return the cycles of the operations on the points of an element, and of their loops."""
        einsum, profile = self.space.einsum, self.profile
        points, kept = prod(local.values()), einsum.outputs[0].rank_variables
        outer = self.space.outer_loops(family, tile)
        if family.scalar is None:  # the operation runs over the loops of the output
            outer = [name for name in outer if name not in kept]
        length = prod(tile.values()) // prod(tile[name] for name in outer)
        first = prod(local[name] for name in kept)
        load = profile.descriptor_use_cycles + profile.descriptor_load_cycles
        if family.scalar is not None:
            load += profile.scalar_load_cycles
        rates = [self._rates[is_first, family.scalar is not None] for is_first in (True, False)]
        moved = first * rates[0] + (points - first) * rates[1]
        turns, loops = points // length, [(tile[name], name not in kept) for name in outer]
        by_loops = turns * load + self._control(family, local, loops)
        if family.scalar is None or not outer or tile[outer[-1]] < LEAST_TURNS:
            return moved + by_loops
        return moved + min(
            by_loops, self._walk(turns, loops) + self._control(family, local, loops[:-1])
        )

    def _walk(self, turns: int, loops: Sequence[tuple[int, bool]]) -> float:
        """Return the cycles around operations whose innermost loop is a map.

        `turns`: of all loops together, on all tiles.
        """
        profile = self.profile
        starts = turns // loops[-1][0] * profile.descriptor_use_cycles
        return float(turns * (1 + profile.map_step_cycles) + starts)

    def _control(
        self, family: GridFamily, local: Mapping[str, int], loops: list[tuple[int, bool]]
    ) -> float:
        """Return the cycles of the loops' branches; `loops`: (turns, summed over), outermost first.

        A loop that is summed over has its first turn in front of it, unless values are there.
        """
        steps = local[family.tile.variable] // family.tile.size if family.tile else 1
        if family.tile and family.tile.variable not in self.space.einsum.outputs[0].rank_variables:
            return self._branches(loops, is_first=True) + (steps - 1) * self._branches(
                loops, is_first=False
            )
        return steps * self._branches(loops, is_first=True)

    def _branches(self, loops: list[tuple[int, bool]], *, is_first: bool) -> float:
        if not loops:
            return 0.0
        (count, is_summed), inner = loops[0], loops[1:]
        cycles, turns = 0.0, count
        if is_summed and is_first:
            cycles, turns, is_first = self._branches(inner, is_first=True), count - 1, False
        return cycles + self._loop(turns) + turns * self._branches(inner, is_first=is_first)

    def _loop(self, turns: int) -> float:
        profile = self.profile
        return (
            profile.counter_cycles
            + (turns - 1) * profile.loop_back_edge_cycles
            + profile.branch_not_taken_cycles
        )

    def _transfers(
        self, family: GridFamily, local: Mapping[str, int], tile: Mapping[str, int]
    ) -> float:
        """Return the cycles of an element's receives and sends, and of the loop over tiles."""
        profile, einsum = self.profile, self.space.einsum
        passing = self.space.passing(family.tile, family.resident)
        load = self._load
        moved = [*self._streamed(family), *([] if self.space.output_stays else einsum.outputs)]
        whole = [access for access in moved if access.tensor not in passing]
        if family.shared:  # an element sends the finished tile, or receives it
            whole += einsum.outputs
        cycles = sum(load + self._words(access.tile_size(local)) for access in whole)
        if family.tile is None:
            return cycles
        steps = local[family.tile.variable] // family.tile.size
        if family.buffers == 1:
            words = [self._words(a.tile_size(tile)) for a in moved if a.tensor in passing]
            return cycles + steps * (load * len(words) + sum(words)) + self._loop(steps - 1)
        # A turn starts each transfer, changes three counters and branches three times at least.
        counting = min(profile.counter_cycles, profile.task_control_cycles)
        branching = min(profile.branch_taken_cycles, profile.branch_not_taken_cycles)
        each = (load + profile.issue_cycles) * len(passing) + 3 * (counting + branching)
        return cycles + steps * each

    def _words(self, values: int) -> float:
        return values * float(self.profile.cycles_per_wavelet)

    @cached_property
    def _rates(self) -> dict[tuple[bool, bool], float]:
        """Cycles of one point, by whether it is the first of a sum and an input is a register."""
        both = (True, False)
        return {(first, scalar): self._rate(first, scalar) for first in both for scalar in both}

    def _rate(self, is_first: bool, has_scalar: bool) -> float:
        einsum, profile = self.space.einsum, self.profile
        name = own_operation(einsum, first=is_first, has_scalar=has_scalar)
        if name is None:
            return self._map_steps * profile.scalar_operation_cycles + profile.map_step_cycles
        timing = profile.operations[name]
        return float(min(timing.cycles) / timing.group)

    @cached_property
    def _map_steps(self) -> int:
        return scalar_steps(self.space.einsum, number_types(self.space.einsum).output)

    def _streamed(self, family: GridFamily) -> list[TensorAccess]:
        return [a for a in self.space.einsum.inputs if a.tensor not in family.resident]

    def _stream(self, access: TensorAccess, family: GridFamily, local: Mapping[str, int]) -> float:
        """Return the words of the longest border stream of an input.

        Raises InfeasibleMapping if more words enter than a port takes.
        """
        columns, rows = (_product(family.shares, axis) for axis in ("X", "Y"))
        used = {
            axis: prod(
                s.count
                for s in family.shares
                if s.axis == axis and s.variable in access.rank_variables
            )
            for axis in ("X", "Y")
        }
        words = used["X"] * used["Y"] * access.tile_size(local)
        if words > MAX_STREAM:
            raise InfeasibleMapping(
                f"more than {MAX_STREAM:,} words of {access.tensor} enter over a border "
                "(persistent_tensors of a workload are in the elements)"
            )
        lines = max(rows if used["Y"] == rows else 1, columns if used["X"] == columns else 1)
        return words / lines


def _product(shares: tuple[Share, ...], axis: str) -> int:
    return prod(share.count for share in shares if share.axis == axis)
