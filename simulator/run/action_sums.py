"""Add up what the operations of a run did: memory accesses and actions, by kind and by label."""

from __future__ import annotations

from tilewright.simulator.isa.dsd import Buffer
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.run.trace import Counts


class ActionSums:
    """Sums over operations of the values read and written, by buffer, and of the actions."""

    def __init__(self) -> None:
        self.reads: dict[str, int] = {}
        self.writes: dict[str, int] = {}
        self.read_words = 0
        self.write_words = 0
        self.actions = {"mac": 0, "add": 0, "multiply": 0, "move": 0, "map": 0}
        self.labelled: dict[str, int] = {}

    def touch(self, buffer: Buffer, reads: int, writes: int) -> None:
        """Count values read from and written to a buffer by special operations or scalars.

        reads, writes: numbers of values. `add` counts these accesses for all other operations.
        """
        if reads:
            self._add_reads(buffer, reads)
        if writes:
            self._add_writes(buffer, writes)

    def _add_reads(self, buffer: Buffer, values: int) -> None:
        name = buffer.view_of or buffer.name
        self.reads[name] = self.reads.get(name, 0) + values
        self.read_words += values * DTYPES[buffer.dtype]

    def _add_writes(self, buffer: Buffer, values: int) -> None:
        name = buffer.view_of or buffer.name
        self.writes[name] = self.writes.get(name, 0) + values
        self.write_words += values * DTYPES[buffer.dtype]

    def add(self, resolved: ResolvedOperation, elements: int) -> None:
        """Count an operation that processed `elements` values, or packed pairs, in all its runs.

        It adds to the actions of its kind, to its label, and, unless it is special, to the accesses
        of memory.
        """
        if resolved.operation.counts_as == "map" and resolved.dest.letter == "v":
            return  # a further row of the same map, or one without an output
        elements *= 1 + resolved.is_packed
        self.actions[resolved.operation.counts_as] += elements
        label = resolved.source.label
        if label:
            self.labelled[label] = self.labelled.get(label, 0) + elements
        if resolved.is_special:
            return
        for source in resolved.sources:
            if source.buffer is None:
                continue
            times = elements if source.letter == "D" else elements // resolved.extent
            self._add_reads(source.buffer, times)
        if resolved.dest.buffer is not None:
            self._add_writes(resolved.dest.buffer, elements)

    def counts(self, words: tuple[int, int, int], entering: int, leaving: int) -> Counts:
        """Return the sums as the counts of a run.

        words: number of wavelets moved from router to router, into input queues, and out of output
        queues; entering, leaving: number of wavelets over the border of the grid.
        """
        return Counts(
            dict(sorted(self.reads.items())),
            dict(sorted(self.writes.items())),
            self.read_words,
            self.write_words,
            self.actions["mac"],
            self.actions["add"],
            self.actions["multiply"],
            self.actions["move"],
            *words,
            entering,
            leaving,
            self.actions["map"],
            dict(sorted(self.labelled.items())),
        )
