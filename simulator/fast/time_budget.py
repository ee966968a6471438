"""How much the search for times may cost, so that a run without a certificate is hardly later.

What the reference engine needs for a program is estimated from the words that pass queues and from
the runs of operations with queues, before the graph is built; the figures are a least-squares fit
to the candidates of the shipped grid study. How long things take depends on them, never a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tilewright.simulator.fast.no_certificate import Ints, NotCovered
from tilewright.simulator.fast.op_tables import L_WORDS
from tilewright.simulator.fast.script import Script

RUN, RUN_OF_ELEMENT, RUN_OF_UNIT, RUN_OF_WORD = 3_000_000, 5_600, 400, 33
"""Nanoseconds of the reference engine: a run, an element, an operation with queues, a word."""
SEGMENT, GRAPH_OF_UNIT = 80, 500
"""Nanoseconds of the fast engine: a segment of the solver, an operation in the graph."""
SHARE, LEAST = 16, 4
"""The solver may take one part in so many of the run, the graph one in so many."""
WORDS_EACH: Final = 8
"""Words per operation below which its times cost as much as its words."""
UNLIMITED: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Size:
    """What a program has: elements, operations with queues, words that pass queues."""

    elements: int
    units: int
    words: int


@dataclass(slots=True)
class Effort:
    """Segments that the solver may still write."""

    left: int = UNLIMITED

    def spend(self, segments: int) -> None:
        """Take segments away. Raises NotCovered when none are left."""
        self.left -= segments
        if self.left < 0:
            raise NotCovered("the times cost more than running the program")


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much may be spent on the times of a program."""

    steps: int
    """Instructions walked per code."""
    thorough: bool
    """Whether contended links are played, and a program is taken apart where a part is refused."""
    effort: Callable[[Size], Effort]
    """Gives the solver's effort, or raises NotCovered."""


def _worthwhile(size: Size) -> Effort:
    """Allow a small share of what running the program costs. Raises NotCovered if it is no use."""
    words = RUN_OF_WORD * size.words
    run = RUN + RUN_OF_ELEMENT * size.elements + RUN_OF_UNIT * size.units + words
    if 2 * words < RUN:
        raise NotCovered("a short program")
    if size.words < WORDS_EACH * size.units or LEAST * GRAPH_OF_UNIT * size.units > run:
        raise NotCovered("messages of a few words, which are run as quickly")
    return Effort(run // (SHARE * SEGMENT))


WITHOUT_LIMIT: Final = Allowance(200_000, True, lambda _: Effort())
WORTHWHILE: Final = Allowance(1_000, False, _worthwhile)
"""So little that a run is hardly later if that is not enough."""


def size_of(scripts: Sequence[Script], elements: Ints) -> Size:
    """Return the size of a program; elements: how many have each script."""
    pairs = list(zip(scripts, elements.tolist(), strict=True))
    units = sum(count * script.size for script, count in pairs)
    words = sum(count * int(script.tables.lane[:, L_WORDS].sum()) for script, count in pairs)
    return Size(int(elements.sum()), units, words)
