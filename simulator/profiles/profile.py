"""Machine profiles: every number of the machine family, from YAML with a source beside each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Final

from tilewright.arch.files.source import load_document
from tilewright.arch.memo import IdentityCache, ValueCache
from tilewright.simulator.isa.machine_errors import ProfileError
from tilewright.simulator.profiles import profile_file
from tilewright.simulator.profiles.profile_file import OperationTiming

FOLDER = Path(__file__).parent
_SHIPPED: Final = ValueCache(16)
_NUMBERS: Final = ValueCache(64)
_OF_OBJECTS: Final = IdentityCache(64)
"""The same by object: a profile has many fields to compare."""
_NEXT: Final = count()


@dataclass(frozen=True, slots=True)
class Profile:
    """All numbers of one machine, read from a YAML file: times in cycles, sizes as their names say.

    `name`: of the machine; `clock_hz`: its clock. `..._cycles` are costs: of a hop between routers,
    from an operation's dispatch to its first word on the link (`dispatch_to_link_cycles`), from a
    word's arrival to its use, of loading and using descriptors, of loops, branches, scalar
    instructions and task switches. `sram_bytes`, `sram_reserved_bytes`: of an element; `colors`,
    `local_tasks`, `microthreads` and `..._registers`: how many there are; `input_queue_words`,
    `output_queue_words`: capacity by number of the queue; `router_buffer_words`: of a router's
    buffer of one color. The boolean fields say which features the machine has.
    `bank_conflict_factor`: by this factor the cycles are multiplied when two reads are of the same
    memory bank. `stride_limits`: the rule by which strides limit the values per cycle.
    `operations`: timing by operation; `sources`: where each number comes from (`assumed: ...` where
    nothing is published). theory/wafer.md explains them.
    """

    name: str
    clock_hz: float
    sram_bytes: int
    sram_reserved_bytes: int
    colors: int
    local_tasks: int
    microthreads: int
    input_queue_words: tuple[int, ...]
    output_queue_words: tuple[int, ...]
    router_buffer_words: int
    border_channels: int
    """Words that enter, and that leave, by one side of a grid in a cycle at most."""
    hop_cycles: int
    dispatch_to_link_cycles: int
    arrival_to_execute_cycles: int
    completion_cycles: int
    cycles_per_wavelet: Fraction
    descriptor_load_cycles: int
    descriptor_use_cycles: int
    extended_descriptor_cycles: int
    """Further cycles to load a descriptor of several dimensions: its extended register."""
    issue_cycles: int
    decode_to_execute_cycles: int
    memory_completion_cycles: int
    loop_back_edge_cycles: int
    increment_offset_cycles: int
    scalar_load_cycles: int
    task_control_cycles: int
    scalar_operation_cycles: int
    scalar_operand_cycles: int
    """Further cycles of a scalar instruction for each operand in memory, read or written."""
    map_step_cycles: int
    counter_cycles: int
    branch_taken_cycles: int
    branch_not_taken_cycles: int
    task_switch_cycles: int
    task_end_cycles: int
    """Cycles after a task's end in which the main thread has not begun another one."""
    explicit_microthread: bool
    priority_on_descriptors: bool
    """Whether descriptors carry the priority of microthreads; if not, operations and queues."""
    fabric_inputs_per_operation: int
    dsr_registers: int
    xdsr_registers: int
    stride_registers: int
    fifo_full_action: bool
    """Whether FIFOs have a full action, and the actions suspend and fault."""
    fifo_alignment_bytes: int
    fifo_simd: bool
    """Whether FIFOs may have a SIMD mode."""
    switch_both_directions: bool
    """Whether one switch position may change rx and tx."""
    queue_flush: bool
    """Whether a task can wait for the emptying of a queue."""
    unblocks_queues: bool
    """Whether input queues are blocked and unblocked; if not, colors."""
    color_swap: bool
    """Whether routes may swap the colors of a pair."""
    switchable_colors: tuple[int, ...]
    filter_counter_inclusive: bool
    """The other reading of a counter filter: the counter runs over 0..limit, both included."""
    bank_conflict_factor: Fraction
    """How much longer two reads of one cycle take that meet on a bank (bank_costs.py)."""
    stride_limits: str
    """`none`, `documentation` or `inverse` (bank_costs.py): how strides limit values per cycle."""
    operations: Mapping[str, OperationTiming] = field(hash=False)
    sources: Mapping[str, str] = field(hash=False)
    """Where each field's number comes from; `assumed: ...` where nothing is published."""

    def __repr__(self) -> str:
        sram = self.sram_bytes / 1024
        return f"<Profile {self.name}: {self.clock_hz / 1e6:g} MHz, {sram:g} KiB>"

    @property
    def sram_free_bytes(self) -> int:
        """Bytes of an element's SRAM that buffers may fill."""
        return self.sram_bytes - self.sram_reserved_bytes

    def with_values(self, values: Mapping[str, object]) -> Profile:
        """Return a copy with some numbers changed.

        Keys are fields, `hop_cycles`, or `operations.<name>.<field>`, `operations.fmacs.group`.
        Raises ProfileError for an unknown field or a wrong value.
        """
        return replace(self, **profile_file.changed_fields(self.operations, self.sources, values))


def profile_number(profile: Profile) -> int:
    """Return a number that identifies a profile in this process; equal profiles have the same."""
    number: int = _OF_OBJECTS.of(
        profile, "number", lambda: _NUMBERS.of(profile, lambda: next(_NEXT))
    )
    return number


def load_profile(name_or_path: str | Path) -> Profile:
    """Load a machine profile: one that ships, by its name (`wse2-sdk-sim`), or a YAML file by path.

    Raises ProfileError, with the place in the file, for what is wrong or unknown.
    """
    path = Path(name_or_path)
    if path.suffix in {".yaml", ".yml"}:
        return _read(path)
    shipped = FOLDER / f"{name_or_path}.yaml"
    if not shipped.is_file():
        names = ", ".join(sorted(p.stem for p in FOLDER.glob("*.yaml")))
        raise ProfileError("unknown machine profile", value=str(name_or_path), instead=names)
    return _SHIPPED.of(shipped, lambda: _read(shipped))


def _read(path: Path) -> Profile:
    return Profile(**profile_file.read(load_document(path)))  # type: ignore[arg-type]
