"""Derive the plan of a mapping on a grid, and write the program of a plan.

A plan says what moves, what is added where, how tiles lie in memory, and what an element runs.
Counting, bounding and writing the program start from it (theory/grid.md §4).
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, field, replace
from math import prod

from tilewright.mapper.grid.host_streams import HostStream, host_streams
from tilewright.mapper.grid.partial_sums import PartialSums, partial_sums
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile.families.code_families import canonical_code
from tilewright.simulator.lowering.addresses import (
    NOTHING_KEPT,
    Addresses,
    LeftTensors,
    addresses_of,
)
from tilewright.simulator.lowering.border_channels import (
    UNLIMITED,
    SideLoad,
    exit_places,
    paced_streams,
    word_intervals,
)
from tilewright.simulator.lowering.element_program import write_element
from tilewright.simulator.lowering.kernel import ElementKernel, kernel_of
from tilewright.simulator.lowering.padding_writes import with_fills
from tilewright.simulator.lowering.passes.shared_colors import shared_colors
from tilewright.simulator.lowering.rings.shift_roles import route_shifts, with_shifts
from tilewright.simulator.lowering.routes import route_streams, route_sums
from tilewright.simulator.lowering.sums.sum_roles import Numbers, Role, roles
from tilewright.simulator.lowering.tile_layout import TileLayout
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import ElementCode, Program


@dataclass(frozen=True, slots=True)
class Plan:
    """All that follows from a mapping on a grid before a program is written.

    `read`: the mapping as loops in space and time. `streams`: how inputs enter. `sums`: how partial
    sums are added and leave. `layouts`, `kernel`: tiles in memory, and the work on them.
    `addresses`: where the tiles lie, in 16-bit words. `roles`, `placement`: what the classes of
    elements do with sums and shifts, and the class of each element (rows, columns). `codes`: those
    that were written so far; plans that differ only in the scheme of the reduction may share them.
    `channels`: words that pass a side of the grid in a cycle at most; `exit_interval`: cycles
    between two results that leave by one place, if that is more than one.
    """

    read: SpaceTime
    streams: tuple[HostStream, ...]
    sums: PartialSums
    layouts: Dict[str, TileLayout]
    kernel: ElementKernel
    addresses: Addresses
    roles: tuple[Role, ...]
    placement: Numbers
    channels: int = UNLIMITED
    exit_interval: int = 1
    codes: dict[Role, ElementCode] = field(default_factory=dict, repr=False, compare=False)

    def code(self, role: Role) -> ElementCode:
        """Return the code that the elements of a role hold and run, written at the first call."""
        if role not in self.codes:
            self.codes[role] = self._written(role)
        return self.codes[role]

    @property
    def first_role(self) -> Role:
        """The role of an element that sends a sum and receives none, without fills of padding."""
        return replace(self.roles[int(self.placement[self.sums.first])], fills=())

    def _written(self, role: Role) -> ElementCode:
        code = CodeBuilder(role.name)
        self.declare_buffers(code)
        write_element(code, self.kernel, role)
        return code.build()

    def declare_buffers(self, code: CodeBuilder) -> None:
        """Declare the buffers of all tensors at their addresses; changes `code`."""
        read, first_word = self.read, self.addresses.first_word
        for tensor in read.tensors:
            shape = tensor.buffers, tensor.values
            code.buffer(tensor.name, read.dtype_of(tensor.name), shape, first_word[tensor.name])

    @property
    def additions(self) -> int:
        """The most additions that a value of the output goes through, for the rounding bound."""
        read = self.read
        local = prod(loop.count for loop in read.time if read.is_reduced(loop.variable))
        if self.sums.snake is not None or self.sums.ring is not None:
            return local + self.sums.group
        chains = (max(len(c.positions) for c in phase.chains) for phase in self.sums.phases)
        return local + sum(chains)


def plan_of(
    read: SpaceTime,
    reserved_bytes: int = 0,
    kept: LeftTensors = NOTHING_KEPT,
    channels: int = UNLIMITED,
) -> Plan:
    """Derive the plan of a mapping on a grid.

    `reserved_bytes`: memory of each element that the machine's own code takes. `kept`: what other
    Einsums have left there. `channels`: words that pass a side of the grid in a cycle. Raises
    InfeasibleMapping, with the numbers, if the tiles do not fit an element's memory, or for a
    kernel that the machine has no instructions for.
    """
    kernel = kernel_of(read)
    sums, classes, placement = _added_up(read)
    return Plan(
        read=read,
        streams=paced_streams(host_streams(read), channels),
        sums=sums,
        layouts=kernel.layouts,
        kernel=kernel,
        addresses=addresses_of(read, reserved_bytes, kept),
        roles=classes,
        placement=placement,
        channels=channels,
        exit_interval=_exit_interval(read, sums, channels),
    )


def with_reduction(plan: Plan, reduction: str) -> Plan:
    """Return the plan of a mapping that differs in the scheme of its reduction only.

    The two plans share the codes that are written. Raises InfeasibleMapping as `plan_of` does.
    """
    if plan.read.reduction == reduction:
        return plan
    read = plan.read.with_reduction(reduction)
    sums, classes, placement = _added_up(read)
    kernel = replace(plan.kernel, read=read)
    interval = _exit_interval(read, sums, plan.channels)
    changed = replace(plan, read=read, sums=sums, kernel=kernel, exit_interval=interval)
    return replace(changed, roles=classes, placement=placement)


def _exit_interval(read: SpaceTime, sums: PartialSums, channels: int) -> int:
    return word_intervals([SideLoad(exit_places(read, sums), 1)], channels)[0]


def _added_up(read: SpaceTime) -> tuple[PartialSums, tuple[Role, ...], Numbers]:
    """Return how partial sums are added, the roles of elements, and the role of each element."""
    sums = partial_sums(read)
    shifting = with_shifts(read, *roles(read.columns, read.rows, sums))
    return sums, *with_fills(read, *shifting)


def program_of(plan: Plan, profile: Profile | None = None) -> Program:
    """Write the program of a plan: codes, placement, routes and ports, without values of tensors.

    `profile`: the machine, of which streams share colors if it has too few; None for a color each.
    Raises InfeasibleMapping for a formula without instructions; ProgramError if the program breaks
    a rule of all machines, or its streams need more colors than the machine has.
    """
    read = plan.read
    builder = ProgramBuilder(read.einsum.name, read.rows, read.columns)
    route_streams(builder, read, plan.streams)
    route_sums(builder, read, plan.sums, plan.exit_interval)
    route_shifts(builder, read)
    for role in plan.roles:
        plan.codes[role] = canonical_code(plan.code(role))
        builder.written_code(plan.codes[role])
    builder.placement(plan.placement)
    program = builder.build()
    return program if profile is None else shared_colors(program, profile)
