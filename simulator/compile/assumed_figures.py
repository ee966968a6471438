"""Find the assumed figures of a profile on which the result of a program rests.

A profile marks a number as `assumed` where nothing is published. A result is as good as such a
number only if the program uses what it is about: without a branch the cycles of a branch do not
matter. A number that this file does not know counts for every program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tilewright.simulator.instructions.control_flow import Add, If, Loop, Set
from tilewright.simulator.instructions.element_map import Map
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.instructions.task_states import Activate, Block, Unblock
from tilewright.simulator.isa.dsd import Element, Fabin, Fabout, Ref
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.instruction import DsdOperation, Instruction
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import CounterFilter

ASSUMED: Final = "assumed: "
LIMITS: Final = frozenset({
    "sram_bytes", "sram_reserved_bytes", "colors", "local_tasks", "microthreads", "dsr_registers",
    "xdsr_registers", "stride_registers", "fifo_alignment_bytes", "fabric_inputs_per_operation",
    "explicit_microthread", "priority_on_descriptors", "fifo_full_action", "fifo_simd",
    "switch_both_directions", "queue_flush", "unblocks_queues", "color_swap", "switchable_colors",
})  # fmt: skip
"""What a machine has: it decides whether a program is accepted, and changes no result."""


@dataclass(frozen=True, slots=True)
class ProgramParts:
    """What a program uses of those parts of the machine for which a profile has figures.

    `instructions`: all of its codes; `operations`: names of those on descriptors; `has_streams`:
    whether a code has a descriptor of a queue; `has_routes`, `has_counter_filters`: whether routers
    do anything, and count; `has_several_tasks`: whether a code has more than one task;
    `has_slow_borders`: whether words enter or leave at a place in less than one of all cycles.
    """

    instructions: tuple[Instruction, ...]
    operations: frozenset[str]
    has_streams: bool
    has_routes: bool
    has_counter_filters: bool
    has_several_tasks: bool
    has_slow_borders: bool

    def has(self, *kinds: type[Instruction]) -> bool:
        """Return whether an instruction of one of these kinds occurs."""
        return any(isinstance(instruction, kinds) for instruction in self.instructions)


def _moves_operands(parts: ProgramParts) -> bool:
    operands = [operand for part in parts.instructions for operand in part.operands]
    return any(isinstance(operand, Ref) and operand.offset.terms for operand in operands)


def _reads_scalars(parts: ProgramParts) -> bool:
    sources = [s for part in parts.instructions for s in part.operands[1:]]
    return any(isinstance(source, Element) for source in sources)


USED_BY: Final[dict[str, Callable[[ProgramParts], bool]]] = {
    "scalar_operation_cycles": lambda parts: parts.has(ScalarOperation, Map),
    "map_step_cycles": lambda parts: parts.has(Map),
    "counter_cycles": lambda parts: parts.has(Set, Add),
    "branch_taken_cycles": lambda parts: parts.has(If),
    "branch_not_taken_cycles": lambda parts: parts.has(If),
    "loop_back_edge_cycles": lambda parts: parts.has(Loop),
    "task_control_cycles": lambda parts: parts.has(Activate, Block, Unblock),
    "task_switch_cycles": lambda parts: parts.has_several_tasks,
    "increment_offset_cycles": _moves_operands,
    "scalar_load_cycles": _reads_scalars,
    "router_buffer_words": lambda parts: parts.has_routes,
    "border_channels": lambda parts: parts.has_slow_borders,
    "hop_cycles": lambda parts: parts.has_routes,
    "input_queue_words": lambda parts: parts.has_streams,
    "output_queue_words": lambda parts: parts.has_streams,
    "dispatch_to_link_cycles": lambda parts: parts.has_streams,
    "arrival_to_execute_cycles": lambda parts: parts.has_streams,
    "completion_cycles": lambda parts: parts.has_streams,
    "cycles_per_wavelet": lambda parts: parts.has_routes,
    "filter_counter_inclusive": lambda parts: parts.has_counter_filters,
    "clock_hz": lambda _: False,  # cycles do not depend on it
}
"""By figure, whether the result of a program depends on it."""


def assumed_figures(program: Program, profile: Profile) -> tuple[str, ...]:
    """Return the assumed figures of a profile that a program's result rests on, with the reasons.

    Each is `field: what was assumed`, in the order of their names. Empty if all figures that the
    program uses are published.
    """
    parts = _parts_of(program)
    return tuple(
        f"{field}: {source.removeprefix(ASSUMED)}"
        for field, source in sorted(profile.sources.items())
        if source.startswith(ASSUMED) and _rests_on(field, parts)
    )


def _rests_on(field: str, parts: ProgramParts) -> bool:
    kind, _, name = field.partition(".")
    if kind == "operations":
        return name in parts.operations
    if field in LIMITS:
        return False
    used = USED_BY.get(field)
    return True if used is None else used(parts)


def _parts_of(program: Program) -> ProgramParts:
    placed = [program.codes[number] for number in sorted(set(program.placement.ravel().tolist()))]
    instructions = tuple(part for code in placed for _, part in all_instructions(code))
    operations = [part.operation for part in instructions if isinstance(part, DsdOperation)]
    intervals = [port.interval for port in program.edge_inputs]
    intervals += [port.interval for port in program.edge_outputs]
    return ProgramParts(
        instructions,
        frozenset(operations),
        any(isinstance(dsd, Fabin | Fabout) for code in placed for dsd in code.dsds),
        bool(program.routes),
        any(isinstance(route.filter, CounterFilter) for route in program.routes),
        any(len(code.tasks) > 1 for code in placed),
        max(intervals, default=1) > 1,
    )
