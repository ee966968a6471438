"""Remember which sizes of memories give the same answers to all questions whether tiles fit.

What a search does with templates depends on the sizes of memories through such questions alone. So
an architecture of other sizes that gives the same answers has the same templates and programs.

Example: 300 bits fitted, 500 did not. Every size from 300 to less than 500 bits gives both answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from tilewright.arch.components.components import Component, Memory


@dataclass(slots=True)
class SizeTests:
    """The comparisons of bits with sizes of memories made so far, as ranges of sizes.

    `most_fitting`, `least_refused`: per memory the most bits that fitted one instance, and the
    least that did not.
    """

    most_fitting: dict[str, float] = field(default_factory=dict)
    least_refused: dict[str, float] = field(default_factory=dict)

    def so_far(self) -> SizeTests:
        """Return a copy, which later comparisons do not change."""
        return SizeTests(dict(self.most_fitting), dict(self.least_refused))

    def fits(self, memory: Memory, bits: float, instances: float = 1.0) -> bool:
        """Tell whether `bits` fit into some instances of a memory, and remember the answer."""
        share, name = bits / instances, memory.name
        if bits <= memory.size * instances:
            self.most_fitting[name] = max(share, self.most_fitting.get(name, -inf))
            return True
        self.least_refused[name] = min(share, self.least_refused.get(name, inf))
        return False

    def hold_for(self, components: Iterable[Component]) -> bool:
        """Tell whether memories of other sizes give the same answers to all comparisons so far.

        `components`: with the other memories. Exact for comparisons with one instance.
        """
        memories = [c for c in components if isinstance(c, Memory)]
        fitting = all(self.most_fitting.get(m.name, -inf) <= m.size for m in memories)
        refused = (m for m in memories if m.name in self.least_refused)
        return fitting and all(m.size < self.least_refused[m.name] for m in refused)
