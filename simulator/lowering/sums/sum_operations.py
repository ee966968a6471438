"""The operations of an element on partial sums: what it adds, sends and passes on.

Sums that the machine has no vector operation for, of 32-bit integers and maxima of integers, are
joined by a map: a scalar instruction for each value that comes (theory/grid.md §3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.formulas.expression import joins_by_max
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.check.limits import MAX_FABRIC_EXTENT
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.lowering.number_operations import conversion_of, move_of, operation_on
from tilewright.simulator.lowering.sums.sum_roles import SHARE, Role
from tilewright.simulator.profiles.profile import Profile

PASSED_LAST: Final = "_last"
"""Behind the names of the descriptors of a last operation that passes on fewer tiles."""


@dataclass(frozen=True, slots=True)
class SumOperation:
    """A vector operation on partial sums: add to a tile in memory, or send it on.

    `dest`: descriptor that it writes; `sources`: those that it reads: one is moved, two are added.
    `shares`: whether it sends or receives a finished tile that all elements of a group get.
    `leaves`: whether it sends a finished tile of the element to the border; `passes`: whether those
    of other elements.
    """

    dest: str
    sources: tuple[str, ...]
    shares: bool = False
    leaves: bool = False
    passes: bool = False

    def label(self, output: str) -> str:
        """Return the label of timelines and counts, such as `add Z`, `send Z` or `share Z`.

        output: name of the output tensor.
        """
        if self.shares:
            return f"share {output}"
        return f"{'add' if len(self.sources) == 2 else 'send'} {output}"


def passed_parts(values: int, passed: int) -> tuple[int, ...]:
    """Return how many values each operation passes on: whole tiles, as many as one can.

    values: of a tile; passed: number of tiles of other elements. Example: 20 tiles of 2,000 values
    go in two operations, of 16 and of 4 tiles.
    """
    most = max(1, MAX_FABRIC_EXTENT // values)
    full, rest = divmod(passed, most)
    return (most * values,) * full + ((rest * values,) if rest else ())


def sum_operations(output: str, role: Role, values: int) -> tuple[SumOperation, ...]:
    """Return the operations of a role on the sums and results of one output tile of `values`.

    The last sum that arrives is added while the tile is sent, unless the role stores it; each sum
    before it goes through memory. Example: sums arrive on colors a and b, and the tile is Z; the
    operations are Z = Z + a, then out = Z + b. If the role sends nothing, all sums are added in
    memory. A result that all elements of the group get goes out or comes in at the end.
    """
    tile = f"{output}_tile"
    if role.share == "send":
        last = SumOperation(f"{SHARE}_out", (tile,), shares=True)
        return (*_additions(output, role, values), last)
    if role.share == "receive":
        last = SumOperation(tile, (f"{SHARE}_in",), shares=True)
        return (*_additions(output, role, values), last)
    return _additions(output, role, values)


def _additions(output: str, role: Role, values: int) -> tuple[SumOperation, ...]:
    received = [f"{color}_in" for color in role.receives]
    tile, onward = f"{output}_tile", f"{output}_out"
    if role.send is None:
        return tuple(SumOperation(tile, (tile, source)) for source in received)
    last = [] if role.stores else received[-1:]
    through = [
        SumOperation(tile, (tile, source)) for source in received[: len(received) - len(last)]
    ]
    sent = SumOperation(onward, (tile, *last), leaves=role.sends_result)
    if role.passes is None:
        return (*through, sent)
    parts = passed_parts(values, role.passed)
    ends = ["" if part == parts[0] else PASSED_LAST for part in parts]
    passed = (
        SumOperation(f"{output}_pass{end}", (f"{role.passes}_in{end}",), passes=True)
        for end in ends
    )
    return (*through, sent, *passed)


def joining_operation(read: SpaceTime) -> str | None:
    """Return the name of the operation that joins partial sums or maxima, None if there is none.

    Example: fadds for sums of f32.
    """
    return operation_on("fmax" if joins_by_max(read.einsum) else "fadd", read.dtype)


def machine_operation(read: SpaceTime, step: SumOperation) -> str | None:
    """Return the name of the machine's operation for one on partial sums; None if it is a map.

    A finished tile that leaves gets the number type that the output has outside.
    """
    if len(step.sources) == 2:
        return joining_operation(read)
    if step.passes:
        return move_of(read.result_dtype)
    return conversion_of(read.dtype, read.result_dtype if step.leaves else read.dtype)


def sends_beside_work(read: SpaceTime) -> bool:
    """Return whether microthreads add up and send tiles during the work on the next one.

    They need two buffers. Maps have no microthread: the main thread adds and sends behind the work.
    """
    return read.output.depth > 0 and not (read.is_added and joining_operation(read) is None)


def append_sum(
    task: TaskBuilder, read: SpaceTime, dest: Ref, sources: tuple[Ref, ...], label: str
) -> None:
    """Append an operation on partial sums: a move of one source, or a sum or maximum of two.

    The second source is what comes; all are of the output's number type.
    """
    name = joining_operation(read)
    if len(sources) == 1:
        task.op(move_of(read.dtype), dest, *sources, label=label)
    elif name is not None:
        task.op(name, dest, *sources, label=label)
    else:
        held, came = sources
        joining = "max" if joins_by_max(read.einsum) else "add"
        with task.map(("held", held), ("came", came), output=("joined", dest), label=label):
            task.compute("joined", joining, "held", "came", dtype=read.dtype)


def append_step(
    task: TaskBuilder, read: SpaceTime, step: SumOperation, dest: Ref, sources: tuple[Ref, ...]
) -> None:
    """Append a step of a role; `dest`, `sources`: its descriptors with their offsets."""
    name, label = machine_operation(read, step), step.label(read.output.name)
    if name is None:
        append_sum(task, read, dest, sources, label)
    else:
        task.op(name, dest, *sources, label=label)


def joining_cycles(read: SpaceTime, words: int, profile: Profile) -> int | None:
    """Return the cycles in which a map joins a tile of so many words; None for an operation.

    From the load of its descriptors until its last word is there to be sent.
    """
    if joining_operation(read) is not None:
        return None
    turn = profile.map_step_cycles + 2 * profile.scalar_operation_cycles
    launch = profile.descriptor_use_cycles + profile.descriptor_load_cycles
    return launch + words * turn - profile.scalar_operation_cycles
