"""Zeros of padded ranks cost no reads: they are taken out of the counts (theory/model.md §3.7).

reuse.py and uneven.py count whole tiles. What moves over an edge is a product over the ranks, so
that the counts of an edge shrink by one factor: what the tiles at its lower end span inside the
padded ranks, divided by all that they span there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tilewright.arch.components.components import Component
from tilewright.mapper.model.paths.loops import PathLoop
from tilewright.mapper.model.paths.nest import TensorNest
from tilewright.mapper.model.paths.path import Hold
from tilewright.mapper.model.paths.view import Count, lowest_terms
from tilewright.mapper.model.traffic.padded_spans import Cut, Pieces, spanned, spanned_by_cuts
from tilewright.mapper.model.traffic.reuse import Traffic
from tilewright.mapper.workload.einsum import TensorAccess


def zeros_take_time(components: Sequence[Component]) -> bool:
    """Tell whether the busiest instance of a component counts zeros, as one inside a tensor.

    `components`: it and those above it on the path. True below a fanout, whatever lanes are in use:
    the lanes in the middle of a tensor may read no zeros (theory/model.md §3.7).
    """
    return any(component.spatial for component in components)


def without_padding(traffic: list[Traffic], nest: TensorNest) -> list[Traffic]:
    """Return the counts of a tensor's holders, outermost first, without zeros of padded ranks.

    `traffic`: the counts of whole tiles; `nest`: the loop nest as the tensor sees it.
    """
    access = nest.view.einsum.access(nest.tensor.name)
    if not access.clipped:
        return traffic
    shares = _shares(access, nest)
    counted: list[Traffic] = []
    below = shares[-1]
    for number in range(len(traffic) - 1, -1, -1):
        own = below if traffic[number].holder.is_toll else shares[number]
        counted.append(_clipped(traffic[number], own, below, nest))
        below = own
    counted.reverse()
    return counted


def _clipped(traffic: Traffic, own: Fraction, below: Fraction, nest: TensorNest) -> Traffic:
    """Shrink the counts of one holder; `own`, `below`: the shares that move in and out of it."""
    reads, writes = _of(traffic.reads, below), _of(traffic.writes, own)
    level = nest.view.index[traffic.holder.component.name]
    if zeros_take_time(nest.view.flat.components[: level + 1]):
        unit_reads, unit_writes = traffic.unit_reads, traffic.unit_writes
    else:
        unit_reads, unit_writes = _of(traffic.unit_reads, below), _of(traffic.unit_writes, own)
    return replace(
        traffic,
        reads=reads,
        writes=writes,
        unit_reads=unit_reads,
        unit_writes=unit_writes,
        fills=_of(traffic.fills, own),
        served=_of(traffic.served, below),
        zeros=traffic.reads - reads + traffic.writes - writes,
    )


def _of(count: Count, share: Fraction) -> Count:
    return lowest_terms(Fraction(count) * share)


def _shares(access: TensorAccess, nest: TensorNest) -> list[Fraction]:
    """Return the share inside the tensor of the tiles at each holder, and last at the Compute."""
    tiles = _ClippedTiles(access, nest.view.einsum.bounds)
    shares: list[Fraction] = []
    for item in nest.items:
        if not isinstance(item, int):
            continue
        if (loop := nest.loops.get(item)) is not None:
            tiles.cut(loop)
        elif isinstance(nest.path.steps[item], Hold):
            shares.append(tiles.share())
    return [*shares, tiles.share()]


class _ClippedTiles:
    """The tiles of a tensor on the way down a nest, by variable of its padded ranks.

    A variable with one uneven loop is a Cut; else each of its tiles stands for itself.
    """

    def __init__(self, access: TensorAccess, bounds: Mapping[str, int]) -> None:
        self._ranks = [(access.projection[number][1], size) for number, size in access.clipped]
        names = {name for form, _ in self._ranks for name, _ in form.terms}
        self._cuts: dict[str, Cut | Pieces] = {name: Cut(*[bounds[name]] * 3) for name in names}

    def cut(self, loop: PathLoop) -> None:
        """Go below a loop."""
        if loop.variable in self._cuts:
            self._cuts[loop.variable] = _below(self._cuts[loop.variable], loop)

    def share(self) -> Fraction:
        """Return what the tiles span inside the tensor, divided by all that they span."""
        share = Fraction(1)
        for form, size in self._ranks:
            tiles = {name: self._cuts[name] for name, _ in form.terms}
            cuts = tuple(cut for cut in tiles.values() if isinstance(cut, Cut))
            if len(cuts) == len(tiles):
                share *= Fraction(*spanned_by_cuts(form, size, cuts))
                continue
            pieces = {n: c.pieces() if isinstance(c, Cut) else c for n, c in tiles.items()}
            share *= Fraction(*spanned(form, size, pieces))
        return share


def _below(tiles: Cut | Pieces, loop: PathLoop) -> Cut | Pieces:
    """Return the tiles of a variable below a loop over it."""
    if isinstance(tiles, Pieces):
        return _cut(tiles, loop)
    bound, period, tile = tiles
    if loop.initial is None and tile % loop.tile == 0:
        return Cut(bound, period, loop.tile)
    if loop.initial is None and period % tile == 0:  # all tiles are equal
        return Cut(bound, tile, loop.tile)
    return _cut(tiles.pieces(), loop)


def _cut(pieces: Pieces, loop: PathLoop) -> Pieces:
    """Return the tiles below a loop; the first tile of each visit may have a size of its own."""
    if loop.initial is not None:
        head = np.minimum(loop.initial, pieces.size)
        rest = Pieces(pieces.first + head, pieces.size - head)
        cut = _cut_evenly(rest, loop.tile)
        return Pieces(*map(np.concatenate, zip((pieces.first, head), cut, strict=True)))
    return _cut_evenly(pieces, loop.tile)


def _cut_evenly(pieces: Pieces, tile: int) -> Pieces:
    """Cut each tile into smaller ones, the last of which may be smaller still."""
    counts = -(-pieces.size // tile)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.repeat(pieces.first, counts) + number * tile
    ends = np.repeat(pieces.first + pieces.size, counts)
    return Pieces(first, np.minimum(tile, ends - first))
