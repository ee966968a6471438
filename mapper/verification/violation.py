"""A reason why a mapping does not compute its workload, or does not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rule = Literal[
    "computed once",
    "complete before read",
    "held until read",
    "sums joined",
    "lanes exist",
    "tiles fit",
]


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: a sentence about it (`text`), and what to change (`instead`).

    `node`: number of the node of the mapping to look at, counted depth first; -1 if none.
    """

    rule: Rule
    text: str
    instead: str = ""
    node: int = -1

    def __str__(self) -> str:
        return self.text
