"""The plan of several Einsums that run as one program, turn after turn (theory/grid.md §13).

Each Einsum has a plan of its own; they agree in the elements, in the addresses of what passes from
Einsum to Einsum, and in the number of turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from tilewright.mapper.grid.distribution import lies_elsewhere, needed, produced
from tilewright.mapper.grid.exchanges.padding_fills import added_padding, padding_is_added
from tilewright.mapper.grid.partial_sums import partial_sums
from tilewright.mapper.grid.pipelines.einsum_groups import EinsumGroup
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.check.validate import check_program
from tilewright.simulator.compile.families.code_families import canonical_code
from tilewright.simulator.lowering.addresses import LeftTensors, Taken, words_of
from tilewright.simulator.lowering.border_channels import (
    UNLIMITED,
    SideLoad,
    exit_places,
    paced_streams,
    word_intervals,
)
from tilewright.simulator.lowering.element_program import write_turn
from tilewright.simulator.lowering.passes.shared_colors import shared_colors
from tilewright.simulator.lowering.pipelines.joined_code import CodePart, joined_code
from tilewright.simulator.lowering.pipelines.joined_colors import JoinedColors, joined_colors
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of
from tilewright.simulator.lowering.sums.sum_roles import Numbers, Role
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import ElementCode, Program


@dataclass(frozen=True)
class PipelinePlan:
    """The plans of several Einsums that run as one program.

    `plans`: one for each Einsum, in the order in which they run in a turn. `passed`: tensors that
    they pass on. `turns`: how often each of them runs.
    """

    plans: tuple[Plan, ...]
    passed: frozenset[str]
    turns: int

    @property
    def name(self) -> str:
        """The names of the Einsums, with a plus between them."""
        return "+".join(plan.read.einsum.name for plan in self.plans)

    @property
    def instances(self) -> int:
        """How often all Einsums run, each time with other data: their `n_instances`."""
        return self.plans[0].read.einsum.n_instances

    @property
    def peeled(self) -> bool:
        """Whether the first turn has a code of its own: an Einsum adds up over the turns."""
        reads = [plan.read for plan in self.plans]
        return self.turns > 1 and any(read.is_reduced(read.time[0].variable) for read in reads)

    @property
    def words(self) -> int:
        """16-bit words of an element's memory that all tiles take, from address 0 on."""
        return max(plan.addresses.words for plan in self.plans)

    @cached_property
    def programs(self) -> dict[str, Program]:
        """By Einsum, the program of its plan alone, whose routes and ports are in the whole."""
        return {plan.read.einsum.name: program_of(plan) for plan in self.plans}

    @cached_property
    def colors(self) -> JoinedColors:
        """The colors, routes and ports of the program."""
        return joined_colors(self.programs)

    @cached_property
    def _classes(self) -> tuple[Numbers, Numbers]:
        """The different classes of elements: the role in each plan; and each element's class."""
        placed = np.stack([plan.placement.ravel() for plan in self.plans], axis=1)
        classes, numbers = np.unique(placed, axis=0, return_inverse=True)
        return classes, numbers.reshape(self.plans[0].placement.shape).astype(np.int32)

    @cached_property
    def codes(self) -> tuple[ElementCode, ...]:
        """The codes of the classes of elements."""
        parts = [self._parts(number) for number in range(len(self.plans))]
        return tuple(
            canonical_code(
                joined_code(
                    f"class_{number}",
                    [part[role] for part, role in zip(parts, chosen, strict=True)],
                    self.turns,
                    peeled=self.peeled,
                )
            )
            for number, chosen in enumerate(self._classes[0].tolist())
        )

    def _parts(self, number: int) -> list[CodePart]:
        """Return what each role of an Einsum's plan does; number: of the plan."""
        plan = self.plans[number]
        einsum = plan.read.einsum
        colors = self.colors.of(einsum.name)
        codes = (self._part(plan, role) for role in plan.roles)
        return [CodePart(einsum.name, number, code, colors) for code in codes]

    def _part(self, plan: Plan, role: Role) -> ElementCode:
        code = CodeBuilder(role.name)
        plan.declare_buffers(code)
        write_turn(code, plan.kernel, role, int(self.turns > 1), peeled=self.peeled)
        return code.build()

    @property
    def placement(self) -> Numbers:
        """The number of each element's code: (rows, columns)."""
        return self._classes[1]

    def program(self, profile: Profile | None = None) -> Program:
        """Return the one program of all Einsums.

        `profile`: the machine, of which streams share colors if it has too few; None for a color
        for each way. Raises InfeasibleMapping for a formula without instructions; ProgramError if
        the program breaks a rule of all machines, or needs more colors than the machine has.
        """
        colors = self.colors
        program = Program(
            self.name,
            self.codes,
            self.placement.copy(),
            colors.colors,
            colors.routes,
            colors.edge_inputs,
            colors.edge_outputs,
        )
        check_program(program)
        return program if profile is None else shared_colors(program, profile)


def pipeline_plan(
    group: EinsumGroup,
    reads: Sequence[SpaceTime],
    reserved_bytes: int = 0,
    kept: LeftTensors | None = None,
    channels: int = UNLIMITED,
) -> PipelinePlan:
    """Derive the plan of a group of Einsums from the mapping of each, in order.

    `reserved_bytes`: memory of each element that the machine's own code takes. `kept`: what is in
    the memories before the run. `channels`: words that pass a side of the grid in a cycle, of all
    Einsums together. Raises InfeasibleMapping if the elements of one Einsum are not
    those of the others, if a tile is not where the next Einsum needs it, or if they do not fit.
    """
    turns = _turns(group, reads)
    _check_elements(reads)
    for read in reads:
        _check_held(group, read, turns)
    _check_passing(group, reads)
    plans = _plans(reads, reserved_bytes, kept or LeftTensors())
    _check_read_twice(group, plans)
    return PipelinePlan(_paced(plans, channels), group.passed, turns)


def _paced(plans: Sequence[Plan], channels: int) -> tuple[Plan, ...]:
    """Return plans whose streams and results share the channels of the sides that they pass.

    Results that leave by different sides count as by one.
    """
    streams = iter(paced_streams([s for plan in plans for s in plan.streams], channels))
    exits = [exit_places(plan.read, plan.sums) for plan in plans]
    intervals = word_intervals([SideLoad(places, 1) for places in exits], channels)
    return tuple(
        replace(
            plan,
            streams=tuple(islice(streams, len(plan.streams))),
            channels=channels,
            exit_interval=interval if places else 1,
        )
        for plan, places, interval in zip(plans, exits, intervals, strict=True)
    )


def _turns(group: EinsumGroup, reads: Sequence[SpaceTime]) -> int:
    if not group.turns:
        return 1
    counts = {read.einsum.name: _turns_of(group, read) for read in reads}
    if len(set(counts.values())) > 1:
        raise InfeasibleMapping(
            "Einsums of a Pipeline have different numbers of turns",
            value=", ".join(f"{name} {count}" for name, count in counts.items()),
            instead="rank variables of one size for the loop above them",
        )
    return next(iter(counts.values()))


def _turns_of(group: EinsumGroup, read: SpaceTime) -> int:
    """Return the number of turns of the loop above a pipeline, as one Einsum reads it."""
    tensor = next(t for t in read.tensors if t.name in group.passed)
    return read.time[0].count if tensor.depth else 1


def _check_elements(reads: Sequence[SpaceTime]) -> None:
    sizes = {read.einsum.name: (read.columns, read.rows) for read in reads}
    if len(set(sizes.values())) > 1:
        raise InfeasibleMapping(
            "Einsums of a Pipeline run on different elements",
            value=", ".join(f"{name} {x} x {y}" for name, (x, y) in sizes.items()),
            instead="loops over as many columns and rows in each branch",
        )


def _check_held(group: EinsumGroup, read: SpaceTime, turns: int) -> None:
    """Raise InfeasibleMapping unless tiles come and go once in each turn, in one buffer."""
    name, depth = read.einsum.name, int(turns > 1)
    for tensor in read.tensors:
        if tensor.buffers > 1 or tensor.shift is not None:
            raise InfeasibleMapping(
                f"{tensor.name} of {name} has two buffers or shifts in a Pipeline",
                instead="one buffer; tiles wait in the queues meanwhile",
            )
        if tensor.access.output and partial_sums(read).ring is not None:
            raise InfeasibleMapping(
                f"{tensor.name} is added up round a ring in a Pipeline",
                instead="another reduction: the switches of a ring go one way",
            )
        if tensor.name in group.passed and tensor.depth != depth:
            raise InfeasibleMapping(
                f"a loop of {name} stands above {tensor.name}, which passes from Einsum to Einsum",
                instead=f"the Storage of {tensor.name} above all loops in time of the branch",
            )


def _check_passing(group: EinsumGroup, reads: Sequence[SpaceTime]) -> None:
    """Raise InfeasibleMapping unless each tile is where the next Einsum needs it."""
    computed: dict[str, SpaceTime] = {}
    for read in reads:
        for tensor in read.inputs:
            if tensor.name not in group.passed:
                continue
            if not produced(computed[tensor.name]).serves(needed(read, tensor)):
                raise lies_elsewhere(read, tensor)
            added = added_padding(read, tensor)
            if added:
                raise padding_is_added(read, tensor, added[0])
        computed[read.output.name] = read


def _check_read_twice(group: EinsumGroup, plans: Sequence[Plan]) -> None:
    """Raise InfeasibleMapping unless an operand of two Einsums has one place and order in memory.

    Each Einsum that reads a tensor from outside receives it, so the second one writes it again.
    """
    first: dict[str, Plan] = {}
    for plan in plans:
        for tensor in plan.read.inputs:
            before = first.setdefault(tensor.name, plan)
            if tensor.name in group.passed or before is plan:
                continue
            other = before.read.tensor(tensor.name)
            parts = needed(before.read, other), needed(plan.read, tensor)
            orders = before.layouts[tensor.name].order, plan.layouts[tensor.name].order
            if (
                orders[0] != orders[1]
                or tensor.depth != other.depth
                or not parts[0].serves(parts[1])
            ):
                raise InfeasibleMapping(
                    f"{before.read.einsum.name} and {plan.read.einsum.name} read other tiles of "
                    f"{tensor.name}, or in another order of its ranks",
                    instead=f"the same loops over ranks of {tensor.name} in both, or a copy of it",
                )


def _places(
    read: SpaceTime, tensors: Iterable[HeldTensor], first_word: Mapping[str, int]
) -> dict[str, Taken]:
    """Return the words that some tensors of an Einsum take; `first_word`: of each, by name."""
    begun = ((tensor, first_word.get(tensor.name)) for tensor in tensors)
    return {
        tensor.name: Taken(word, word + words_of(tensor, read))
        for tensor, word in begun
        if word is not None
    }


def _plans(reads: Sequence[SpaceTime], reserved_bytes: int, kept: LeftTensors) -> tuple[Plan, ...]:
    """Return the plans of all Einsums, whose tensors lie beside one another."""
    plans: list[Plan] = []
    first_word = dict(kept.first_word)
    places: dict[str, Taken] = {}
    for read in reads:
        places |= _places(read, read.inputs, first_word)
    for read in reads:
        names = {tensor.name for tensor in read.tensors}
        others = [words for name, words in places.items() if name not in names]
        placed = {name: word for name, word in first_word.items() if name in names}
        plan = plan_of(
            read, reserved_bytes, LeftTensors(kept.offsets, placed, (*kept.taken, *others))
        )
        plans.append(plan)
        first_word |= {
            tensor.name: plan.addresses.first_word[tensor.name] for tensor in read.tensors
        }
        places |= _places(read, read.tensors, first_word)
    return tuple(plans)
