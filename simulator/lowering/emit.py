"""Pass 4, emit: the loops of an element around one DSD operation per vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.mapper.grid.candidate import Candidate, GridTensor
from tilewright.mapper.grid.candidate_mapping import element_loops
from tilewright.simulator.build.program_builder import CodeBuilder, TaskBuilder
from tilewright.simulator.isa.dsd import Element, Index, Ref, variable
from tilewright.simulator.program.instruction import Instruction

STEP, SLOT, OTHER_SLOT, SENT_SLOT = "step", "slot", "other", "sent"
"""Counters of an element: tiles done; the numbers of the buffer in use, of the other buffer, and of
the buffer that is sent."""


def declare_vectors(code: CodeBuilder, candidate: Candidate) -> None:
    """Declare the memory descriptors of the vector operation, for output and vector input.

    A candidate makes one variable of the Einsum the vector: the operations run along it. Both
    descriptors (`<tensor>_vector`) have stride 1 and as many elements as a tile has along the
    variable. code: the builder of an element's code, changed.
    """
    extent = candidate.extents[candidate.vector]
    for name in (candidate.output.name, candidate.vector_tensor):
        code.mem1d(f"{name}_vector", name, extent=extent)


def tile_body(candidate: Candidate) -> tuple[Instruction, ...]:
    """Return the instructions that compute one tile: loops around one vector operation.

    A candidate maps one Einsum to the grid, in tiles (passes in time); all elements run the same
    body. The number of the tile is in the counter `step` (a named integer of the element), which
    the caller increments. The operation is output = vector * scalar at the first visit of an output
    value, output = output + vector * scalar later, so that no output is read before it is written
    (first-write elision, model.md §3.3).
    """
    summed_over_tiles = (
        candidate.tile_variable is not None and candidate.tile_variable in candidate.reduced
    )
    task, emitter = TaskBuilder("tile"), _Emitter(candidate)
    loops = element_loops(candidate)
    if not summed_over_tiles:
        emitter.nest(task, loops, {}, fresh=True)
        return task.body
    with task.when_below(STEP, 1):
        emitter.nest(task, loops, {}, fresh=True)
    with task.otherwise():
        emitter.nest(task, loops, {}, fresh=False)
    return task.body


@dataclass(frozen=True, slots=True)
class _Emitter:
    """Append the work on one tile to a task."""

    candidate: Candidate

    def nest(
        self,
        task: TaskBuilder,
        loops: Sequence[tuple[str, int]],
        point: Mapping[str, Index],
        *,
        fresh: bool,
    ) -> None:
        """Append the loops around the vector operation at a point.

        fresh: the first visit of the output, which multiplies without adding.
        """
        if not loops:
            self._operation(task, point, fresh=fresh)
            return
        (name, count), inner = loops[0], loops[1:]
        if not (fresh and name in self.candidate.reduced):
            with task.loop(f"{name}_{len(inner)}{'f' if fresh else ''}", count) as index:
                self.nest(task, inner, {**point, name: index}, fresh=fresh)
            return
        self.nest(task, inner, {**point, name: Index(0)}, fresh=True)
        with task.loop(f"{name}_{len(inner)}r", count - 1) as index:
            self.nest(task, inner, {**point, name: index + 1}, fresh=False)

    def _operation(self, task: TaskBuilder, point: Mapping[str, Index], *, fresh: bool) -> None:
        candidate = self.candidate
        output = self._vector(candidate.output.name, point)
        vector = self._vector(candidate.vector_tensor, point)
        scalar = Element(
            candidate.scalar_tensor,
            element_offset(candidate, candidate.tensor(candidate.scalar_tensor), point),
        )
        if fresh:
            task.op("fmuls", output, vector, scalar)
        else:
            task.op("fmacs", output, output, vector, scalar)

    def _vector(self, name: str, point: Mapping[str, Index]) -> Ref:
        tensor = self.candidate.tensor(name)
        return Ref(f"{name}_vector").at(element_offset(self.candidate, tensor, point))


def element_offset(candidate: Candidate, tensor: GridTensor, point: Mapping[str, Index]) -> Index:
    """Return where a value of the current tile lies in a tensor's buffer, in elements.

    point: the place inside the tile, by variable of the Einsum (0 where one is absent), as sums of
    loop counters. The result is such a sum, too: with the counter `step` (number of the tile) where
    all tiles lie in one buffer, and with `slot` (buffer in use) where the tensor has two buffers.
    """
    offset, pitch = Index(0), 1
    for rank in reversed(tensor.order):
        name = tensor.variables[rank]
        offset = offset + point.get(name, Index(0)) * pitch
        if name == candidate.tile_variable and tensor.tiles == 1:
            offset = offset + variable(STEP) * (candidate.tile * pitch)
        pitch *= tensor.tile[rank]
    if tensor.copies > 1:
        offset = offset + variable(SLOT) * pitch
    return offset
