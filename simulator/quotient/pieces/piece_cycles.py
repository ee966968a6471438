"""Exact cycles of a large grid from its pieces, simulated one by one by the reference engine.

Words go from one piece to the next in the east only. If none of them waits on its way, the run of a
piece follows from the cycles in which they come, and equal bands of it do the same
(theory/engines.md §15).
"""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.exit_times import last_exits
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import EdgeInput, EdgeOutput
from tilewright.simulator.quotient.line_blocks import Ints
from tilewright.simulator.quotient.narrow_run import (
    check_values_decide_nothing,
    ends_well,
    start_without_values,
)
from tilewright.simulator.quotient.pieces.column_pieces import (
    ColumnPiece,
    Crossings,
    column_pieces,
    piece_of,
)
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.run_data import step_to_end

MOST_PIECES = 32
"""A grid of more pieces is not tried: each of them is a program to compile."""


def cycles_by_pieces(program: Program, profile: Profile, most: int) -> tuple[int, int]:
    """Return the exact cycles of a program, and how many of its elements were simulated.

    most: elements that may be simulated. The cycles are those of `Machine.run` on any data. Raises
    NotCovered, with the reason, if they do not follow.
    """
    pieces = column_pieces(program)
    if len(pieces) > MOST_PIECES:
        raise NotCovered("the grid has too many pieces")
    if sum(piece_of(program, columns, {}).program.placement.size for columns in pieces) > most:
        raise NotCovered("too many rows of the pieces differ")
    enters: Crossings = {}
    cycles = elements = 0
    for columns in pieces:
        piece = piece_of(program, columns, enters)
        elements += piece.program.placement.size
        if elements > most:
            raise NotCovered("too many rows of the pieces differ")
        run = PieceRun(piece, profile, _most_words(program))
        cycles, enters = max(cycles, run.cycles), run.leaves()
    return cycles, elements


def _most_words(program: Program) -> int:
    """Return a number above that of the words that enter or leave the grid by a port."""
    ports: tuple[EdgeInput | EdgeOutput, ...] = (*program.edge_inputs, *program.edge_outputs)
    return 1 + max((port.count for port in ports), default=0)


class PieceRun:
    """A finished run of a piece, without values, from cycle 0 on.

    Words come in from the west in the cycles that are given. Those that leave in the east go to
    ports with space. Raises NotCovered if a word waits to come in, if the run does not end well, or
    if values of words may decide something.
    """

    def __init__(self, piece: ColumnPiece, profile: Profile, most: int) -> None:
        """Run a piece; most: words that a port in the east takes."""
        self.piece, self._most = piece, most
        try:
            self.compiled = Machine(piece.with_ports(most), profile).compiled
        except ProgramError as error:
            raise NotCovered("a piece alone does not fit the machine") from error
        check_values_decide_nothing(self.compiled)
        self.store, sram = start_without_values(self.compiled)
        entering = self._entering()
        for words, cycles in entering:
            self.store[words] = cycles
        self.store = step_to_end(self.store, sram)
        if not ends_well(self.compiled, self.store, self._outside):
            raise NotCovered("a piece alone does not end")
        if _waited(self.store, entering):
            raise NotCovered("words wait between two pieces")

    def _entering(self) -> list[tuple[Ints, Ints]]:
        """Return by port the places of the words that enter, and the cycles in which they come.

        A place holds the cycle from which on its word may enter, and then that in which it did.
        """
        network = self.compiled.network
        ports = network.edge_inputs[len(self.piece.program.edge_inputs) :]
        fifo = self.compiled.parts.fifo.view(self.store)
        words = (cycles for _, _, cycles in self.piece.entering())
        return [
            (fifo[int(fifos[0]), at.F_RING] + 2 * np.arange(cycles.size), cycles)
            for fifos, cycles in zip(ports, words, strict=True)
        ]

    @property
    def _outside(self) -> Ints:
        """The FIFOs of the ports by which words leave the grid."""
        ports = self.compiled.network.edge_outputs[: len(self.piece.program.edge_outputs)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *ports])

    @property
    def cycles(self) -> int:
        """The last cycle of the piece: of its operations, and of words that leave the grid."""
        compiled = self.compiled
        ends = last_exits(self.store, compiled.parts, compiled.network, self._outside)
        return max(int(self.store[at.S_END]), int(ends.max(initial=0)))

    def leaves(self) -> Crossings:
        """Return the cycles in which words leave each row of the grid in the east."""
        fifo = self.compiled.parts.fifo.view(self.store)
        ports = self.compiled.network.edge_outputs[len(self.piece.program.edge_outputs) :]
        sent: Crossings = {}
        for fifos, (_, place) in zip(ports, self.piece.leaving(), strict=True):
            exit_fifo = fifo[int(fifos[0])]
            words = self.store[exit_fifo[at.F_RING] + 2 * np.arange(exit_fifo[at.F_COUNT])]
            if words.size == self._most:
                raise NotCovered("more words leave a piece than a port takes")
            sent[place] = words - exit_fifo[at.F_LATENCY]
        return self._by_all_rows(sent)

    def _by_all_rows(self, sent: Crossings) -> Crossings:
        colors = sorted({color for color, _ in sent})
        equal = enumerate(self.piece.equal.tolist())
        rows = [(row, origin) for row, origin in equal]
        return {
            (color, row): sent[color, origin]
            for color in colors
            for row, origin in rows
            if (color, origin) in sent and sent[color, origin].size
        }


def _waited(store: at.Table, entering: list[tuple[Ints, Ints]]) -> bool:
    """Return whether a word entered later than it came; entering: places and cycles by port."""
    return any((store[words] != cycles).any() for words, cycles in entering)
