"""The text of a scheme of reductions: what each line does, in which order, who gets the result.

Examples: `chain`; `y_first(tree)`, a tree down the columns and then one along a row; `snake`;
`all_reduce(two_phase(4))`; `all_reduce(ring)`, in which no element adds up a whole tile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tilewright.mapper.grid.schemes.line_costs import PUBLISHED_COSTS, LineCosts
from tilewright.mapper.workload.errors import InfeasibleMapping

Order = Literal["x_first", "y_first", "snake", "ring"]
_COUNT = r"[1-9][0-9]{0,8}"
LINE_SCHEME = rf"chain|tree|two_phase(?:\({_COUNT}\))?|auto(?:\({_COUNT},{_COUNT},{_COUNT}\))?"
"""What the elements of a line may do."""
_PARTS = re.compile(rf"(?P<snake>snake)|(?P<x>{LINE_SCHEME})|y_first\((?P<y>{LINE_SCHEME})\)")
_SHARED = re.compile(r"all_reduce\((.*)\)")


@dataclass(frozen=True, slots=True)
class ReductionScheme:
    """How partial sums are added over the elements of a group.

    `line`: what each line of elements does: `chain`, `tree`, `two_phase`, `two_phase(4)`, `auto` or
    `auto(21,5,1)`. `order`: lines along X before those along Y, the other way round, or one chain
    that winds through all rows (snake), or a ring through them. `shared`: whether all elements of
    the group get the result, as they do in a ring.
    """

    line: str
    order: Order = "x_first"
    shared: bool = False

    def line_for(self, words: int, costs: LineCosts = PUBLISHED_COSTS) -> str:
        """Return what each line does with tiles of so many words: `auto` becomes a certain tree."""
        return f"auto({costs.of(words)})" if self.line == "auto" else self.line

    def __str__(self) -> str:
        text = {"x_first": self.line, "y_first": f"y_first({self.line})"}
        inner = text.get(self.order, self.order)
        return f"all_reduce({inner})" if self.shared else inner


RING = ReductionScheme("chain", "ring", shared=True)
"""Each element adds up a part of the tile, which comes to it round a ring, and sends it to all."""


@lru_cache(maxsize=1024)
def reduction_scheme(text: str) -> ReductionScheme:
    """Read the text of a scheme; raises InfeasibleMapping if there is none of that name.

    Example: "all_reduce(y_first(tree))" is a tree, columns first, whose result is shared.
    """
    if text == str(RING):
        return RING
    shared = _SHARED.fullmatch(text)
    match = _PARTS.fullmatch(text if shared is None else shared[1])
    if match is None:
        raise no_scheme(text)
    if match["snake"]:
        return ReductionScheme("chain", "snake", shared is not None)
    order: Order = "y_first" if match["y"] else "x_first"
    return ReductionScheme(match["y"] or match["x"], order, shared is not None)


def no_scheme(text: str) -> InfeasibleMapping:
    """Return the error for a text that names no scheme."""
    return InfeasibleMapping(
        f"there is no reduction {text!r}",
        instead="chain, tree, two_phase or two_phase(4), with groups of 4, auto or auto(21,5,1), "
        "a tree made for additions of 21 cycles; one of these in y_first(...), columns before "
        "rows; snake, one chain through all rows; or any of these, or ring, in all_reduce(...), "
        "for a result that stays in the elements",
    )
