"""Check that what lives at a time fits each exchange memory, when Einsums are joined.

A label (the pmappings chosen so far) and a pmapping of the next Einsum fit together if the tiles
that live while either of them runs take at most the capacity of each exchange memory: tiles of the
next Einsum, exchanged tensors, and tiles of finished Einsums above the loops that they share with
the next one (theory/fusion.md §3, §4).

Example: BUF has 8 bits. A label keeps 0 bits above a shared loop over m, Y takes 4 bits below it,
and a pmapping of Z reserves 3 bits: 0 + 4 + 3 = 7 bits, which fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph, Edges
from tilewright.mapper.fusion.join.label_columns import LabelColumns, LabelPairs
from tilewright.mapper.searches.exact.kernels import Floats, Ints


class _MemoryBits(NamedTuple):
    """Bits of one exchange memory, per pair of a label and a pmapping.

    `kept_bits`: bits above each shared loop that stay. `peak`: most bits while a finished Einsum
    ran that shares so many loops. Both of the label, shape (pairs, loops shared before).
    `reserved`: what the pmapping reserves above loop 1, …, above loop n, and in all, shape (pairs,
    loops + 1).
    """

    kept_bits: Floats
    peak: Floats
    reserved: Floats


class _LiveBits(NamedTuple):
    """Bits of exchanged tensors in one memory, per pair of a label and a pmapping.

    `below_shared`: of tensors written before, whose tiles stand below all shared loops; shape
    (pairs,). `new_above`: of tensors that start to take bits with this Einsum, above loop 1, …, n;
    shape (pairs, loops). `new`: of all of these; shape (pairs,).
    """

    below_shared: Floats
    new_above: Floats
    new: Floats


class EdgeCapacity:
    """Add up the bits in the exchange memories when an Einsum is joined to those before it.

    A label is a choice of pmappings (mappings of one Einsum within the whole) for the Einsums so
    far; a compatibility is what both sides of a join must agree about. `graph`: all ways to join.
    `number`: of the Einsum that joins. `edges`: from one compatibility to another through one group
    of its pmappings. `columns`: the columns of a label, and the capacity of each exchange memory in
    bits.
    """

    def __init__(
        self, graph: CompatibilityGraph, number: int, edges: Edges, columns: LabelColumns
    ) -> None:
        self._tile_codes = graph.tile_codes
        self._join_step = graph.steps[number]
        self._codes = graph.codes[number][edges.source]
        self._edges = edges
        self._columns = columns
        self._loops_before = len(edges.source.loops)
        self._shared_before = self._join_step.shared_loops(edges.source, edges.group)
        self._loops_after = len(edges.target.loops)

    @property
    def label_width(self) -> int:
        """Number of columns of a label after the join.

        A label is a choice of mappings for the Einsums so far; its columns are energy, latency,
        usages, and the bits in exchange memories.
        """
        return self._columns.head + 2 * self._loops_after * len(self._columns.capacities)

    def put(
        self, pairs: LabelPairs, label_values: Floats, pmapping: Floats, values: Floats
    ) -> NDArray[np.bool_]:
        """Fill in the bits and usages of the exchange memories, and tell which labels fit.

        `pairs`: a label and a pmapping of the next Einsum each. `label_values`, `pmapping`: their
        rows, shape (pairs, columns). `values`: rows of the labels after the join, which get the
        bits kept above each shared loop, the peaks of finished Einsums and the counted usages. The
        result is True where no memory exceeds its capacity at any time, shape (pairs,).
        """
        columns, width = self._columns, 2 * self._loops_after
        fits = np.ones(len(label_values), np.bool_)
        memories = zip(self._join_step.memories, columns.capacities, strict=True)
        for number, (memory, capacity) in enumerate(memories):
            bits = self._memory_bits(number, label_values, pmapping)
            first = columns.head + width * number
            peak = self._reserve(pairs, memory, bits, values[:, first : first + width])
            if memory in columns.usage.exchange:
                column = columns.usage_column(memory)
                np.maximum(label_values[:, column], peak, out=values[:, column])
            fits &= peak <= capacity
        return fits

    def _memory_bits(self, number: int, label_values: Floats, pmapping: Floats) -> _MemoryBits:
        """Return the columns of labels and of pmappings that concern exchange memory `number`.

        `label_values`, `pmapping`: all columns, one row per label and per pmapping.
        """
        loops, shared = self._loops_before, self._shared_before
        width = len(self._edges.group.loops) + 1
        of_label = label_values[:, self._columns.head + 2 * loops * number :][:, : 2 * loops]
        of_pmapping = pmapping[:, self._columns.pmapping_head + width * number :][:, :width]
        return _MemoryBits(of_label[:, :shared], of_label[:, loops:][:, :shared], of_pmapping)

    def _reserve(self, pairs: LabelPairs, memory: str, bits: _MemoryBits, out: Floats) -> Floats:
        """Return the most bits of a memory in use at a time, shape (pairs,).

        Put into `out`, shape (pairs, 2 * loops shared afterwards), the bits kept above each of
        these loops, then the peaks of finished Einsums.
        """
        shared_before, shared_after = self._shared_before, self._loops_after
        live = self._live_bits(pairs, memory)
        finished, running = self._savings(self._edges.tilings[pairs.edges], memory)
        reserved = bits.reserved - running + self._widening_bits(pairs, memory)
        kept_bits = bits.kept_bits[:, -1] if shared_before else np.zeros(len(reserved))
        total = kept_bits + live.below_shared + reserved[:, -1] + live.new
        added = (
            bits.reserved[:, :shared_before]
            - finished[:, :shared_before]
            + live.new_above[:, :shared_before]
        )
        peaks = suffix_maximum(bits.peak + added)
        for k in range(shared_after):
            kept_above = bits.kept_bits[:, min(k, shared_before - 1)] if shared_before else 0.0
            ended = live.below_shared if k >= shared_before else 0.0
            out[:, k] = kept_above + reserved[:, k] + live.new_above[:, k] + ended
            out[:, shared_after + k] = (
                np.maximum(total, peaks[:, k]) if k < shared_before else total
            )
        return np.maximum(total, peaks[:, 0]) if shared_before else total

    def _live_bits(self, pairs: LabelPairs, memory: str) -> _LiveBits:
        """Return the bits that exchanged tensors take in a memory, per pair."""
        edges, step = self._edges, self._join_step
        group, source = edges.group, edges.source
        tiles = self._tiles_before(pairs)
        below_shared = step.bits_below_shared_loops(source, group, tiles, memory)
        new = step.tensors_from_now(source, group, memory)
        sizes = group.sizes[edges.tilings[pairs.edges]][:, new]
        depths = np.array([group.depths[position] for position in new], np.int64)
        loops = np.arange(1, len(group.loops) + 1)
        new_above = sizes @ (depths[:, np.newaxis] < loops).astype(np.float64)
        return _LiveBits(below_shared, new_above, sizes.sum(axis=1))

    def _tiles_before(self, pairs: LabelPairs) -> Ints:
        """Return the tile below each loop that Einsums before share, in values; (pairs, loops)."""
        codes = self._codes[self._edges.nodes[pairs.edges]]
        return self._tile_codes.decode(self._edges.source.loops, codes)

    def _savings(self, tilings: Ints, memory: str) -> tuple[Floats, Floats]:
        """Return the bits to subtract because an earlier Einsum holds the same tile there.

        Two arrays of shape (pairs, loops + 1), above loop 1, …, n and in all: what to subtract
        while finished Einsums run, and while this or a later one runs. `tilings`: per pair the
        number of the tiling.
        """
        group = self._edges.group
        tiles = group.tiles[tilings]
        finished, running = np.zeros((2, len(tilings), len(group.loops) + 1))
        savings = self._join_step.shared_savings(self._edges.source, group, tiles, memory)
        for saving in savings:
            finished[:, saving.loops_above :] += saving.finished[:, np.newaxis]
            running[:, saving.loops_above :] += saving.running[:, np.newaxis]
        return finished, running

    def _widening_bits(self, pairs: LabelPairs, memory: str) -> Floats:
        """Return by how many bits tensors kept in a memory grow, as this Einsum sees wider values.

        Above loop 1, …, above loop n, and in all; shape (pairs, loops + 1).
        """
        edges = self._edges
        total = np.zeros((len(pairs.edges), len(edges.group.loops) + 1))
        tiles = self._tiles_before(pairs)
        widenings = self._join_step.widening_bits(edges.source, edges.group, tiles, memory)
        for loops_above, bits in widenings:
            total[:, loops_above:] += bits[:, np.newaxis]
        return total


def suffix_maximum(values: Floats) -> Floats:
    """Return, for each column, the greatest value at that column or behind it.

    `values`: peaks in bits for Einsums that share 1, 2, … loops with the next one, shape (labels,
    loops). Later checks for fewer shared loops include those for more, so nothing is lost. Example:
    (3, 1, 2) becomes (3, 2, 2) (theory/fusion.md §5).
    """
    return np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
