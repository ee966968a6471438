"""The tables of a run of all elements for values: what it reads, what it changes."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.simulator.compile.columns import Memory
from tilewright.simulator.fast.units.graph import Ints

C_FIRST, C_COUNT, C_WIDTH = range(3)
"""A code: its first operation, and their number."""
L_PLACE, L_FIRST, L_COUNT, L_TILE, L_WIDTH = range(5)
"""A buffer with data: its first 16-bit word, the first of its words in `from_word`, how many, and
the word in `tiles` at which those of element 0 begin, -1 if they are gathered from `source`."""
K_PLACE, K_COUNT, K_AT, K_WIDTH = range(4)
"""A buffer that is kept: its first word, its words, and where those of element 0 are in `kept`."""


class GridRun(NamedTuple):
    """A run of all elements for values.

    - `op`: (operations of all codes, N_WIDTH) as in `element_lines.py`, and so are `maps`,
      `scalars` and `paths`; `code`: (codes, C_WIDTH) first operation of each code and their number.
    - `placement`: (elements,) code of each.
    - `source`, `counter`: (elements, input slots) first word in `data` of the stream that a queue
      gets, and the row of its filter in `filter`, -1 for none. `target`: (elements, output slots)
      first word in `data` of the stream that a queue sends.
    - `filter`: (filters, 3) as in `ramp_filters.py`.
    - `missing`: (elements,) number of streams from elements that have not run yet. `reader`:
      (elements,) first queue that gets an element's stream, as element * 8 + slot, -1 for none;
      `after`: by such a number, the next queue that gets the same stream.
    - `data`: words of all streams; `memory`: that of one element, 32-bit words.
    - `load`: (buffers, L_WIDTH). `base`: (buffers, elements) word of `source_words` at which an
      element's values begin, or -1 - word of `tiles` at which they begin. `from_word`, `to_word`:
      for each gathered word its place behind `base`, and in the buffer. `tiles`: values that are
      not gathered, one element after the other.
    - `keep`: (buffers, K_WIDTH) the buffers to return; `kept`: what they hold at the end, 16-bit
      words of all elements.
    - `variables`: counters of one element. `stack`: working space, elements that can run.
    """

    op: Ints
    maps: Ints
    scalars: Ints
    paths: Ints
    code: Ints
    placement: Ints
    source: Ints
    counter: Ints
    target: Ints
    filter: Ints
    missing: Ints
    reader: Ints
    after: Ints
    data: Memory
    memory: Memory
    load: Ints
    base: Ints
    from_word: Ints
    to_word: Ints
    source_words: Memory
    tiles: Memory
    keep: Ints
    kept: Memory
    variables: Ints
    stack: Ints
