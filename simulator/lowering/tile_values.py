"""Values of tensors, from whole arrays to the elements' memories and border streams, and back.

Each is a gather by an index array, or the scatter that is its inverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.host_streams import (
    HostStream,
    Integers,
    element_starts,
    place_in_period,
    visit_starts,
)
from tilewright.mapper.grid.rings.shifts import held_starts, turned_values
from tilewright.mapper.grid.space_time import HeldTensor
from tilewright.simulator.lowering.number_operations import NUMPY, number_of
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.routes import exit_ports, input_port
from tilewright.simulator.lowering.tile_layout import TileLayout
from tilewright.simulator.run.gathered_tiles import GatheredTiles

Values = npt.NDArray[np.generic]


def run_inputs(
    plan: Plan, operands: Mapping[str, Values]
) -> tuple[dict[str, Values], dict[str, Values]]:
    """Return the start values of the memories, and the values that enter at the border.

    `operands`: whole input tensors by name, in the shape of their ranks. Returns arrays (rows,
    columns, buffers, values of a tile) by resident tensor, with the first tile in all buffers, and
    arrays (streams, words) by border port.
    """
    read = plan.read
    tiles = {
        name: gathered.values().reshape(read.rows, read.columns, read.tensor(name).buffers, -1)
        for name, gathered in resident_tiles(plan, operands).items()
    }
    return tiles, stream_inputs(plan, operands)


def stream_inputs(plan: Plan, operands: Mapping[str, Values]) -> dict[str, Values]:
    """Return the values that enter at the border: arrays (streams, words) by port.

    `operands`: whole input tensors by name, in the shape of their ranks.
    """
    return {
        input_port(stream.tensor.name): _stream(
            plan, stream, _read_values(plan, stream.tensor, operands)
        )
        for stream in plan.streams
    }


def resident_tiles(
    plan: Plan, operands: Mapping[str, Values], leave: frozenset[str] = frozenset()
) -> dict[str, GatheredTiles]:
    """Return the start values of the memories by resident tensor, as places in the operands.

    `operands`: whole input tensors by name, in the shape of their ranks; but for those to `leave`.
    """
    return {
        tensor.name: _held(plan, tensor, _read_values(plan, tensor, operands))
        for tensor in plan.read.inputs
        if tensor.resident and tensor.name not in leave
    }


def _read_values(plan: Plan, tensor: HeldTensor, operands: Mapping[str, Values]) -> Values:
    """Return the values of an input, cut to what this access of the Einsum reads.

    Another access of the same tensor may read more, but behind the last value of a padded rank
    variable are zeros. operands: whole input tensors by name.
    """
    access, einsum = tensor.access, plan.read.workload_einsum
    values = operands[access.values_of]
    if sum(other.values_of == access.values_of for other in einsum.inputs) == 1:
        return values
    return values[tuple(map(slice, access.array_shape(einsum.bounds)))]


def _held(plan: Plan, tensor: HeldTensor, values: Values) -> GatheredTiles:
    """Return what each element holds of a resident tensor before the run, as places in `values`.

    values: the whole tensor. If a tensor has several buffers, each of them has the same tile.
    """
    read, layout = plan.read, plan.layouts[tensor.name]
    starts = {name: first.ravel() for name, first in held_starts(read, tensor).items()}
    turned = turned_values(read, tensor)
    if turned is None:
        tiles = _gathered(layout, values, starts)
    else:
        tiles = _turned(layout, values, starts, _Rotation(read.time[0].variable, turned.ravel()))
    if tensor.buffers == 1:
        return tiles
    doubled = np.concatenate([tiles.others] * tensor.buffers, axis=1)
    return replace(tiles, places=np.tile(tiles.places, tensor.buffers), others=doubled)


class _Rotation(NamedTuple):
    """How far the tile of each element is rotated along a rank variable.

    `variable`: name of the rank variable; `values`: by element in row-major order, the position of
    the tile that comes first in its memory.
    """

    variable: str
    values: Integers


def _turned(
    layout: TileLayout, values: Values, starts: Mapping[str, Integers], turns: _Rotation
) -> GatheredTiles:
    """Return tiles rotated along a rank variable, so that each begins at its place in `turns`.

    starts: by rank variable, where the tile of each element begins. Example: a tile 0, 1, 2, 3 that
    is turned by 1 lies in memory as 1, 2, 3, 0.
    """
    begins, number = np.unique(turns.values, return_inverse=True)
    tiles = np.empty((turns.values.size, layout.tensor.values), dtype=values.dtype)
    names = [[name for name, _ in form.terms] for _, form in layout.tensor.access.projection]
    rank = layout.order.index(names.index([turns.variable]))
    shape = [layout.tensor.extents[place] for place in layout.order]
    for place, begin in enumerate(begins):
        chosen = np.flatnonzero(number.ravel() == place)
        some = _tiles(layout, values, {name: first[chosen] for name, first in starts.items()})
        whole = some.reshape(chosen.size, *shape)
        tiles[chosen] = np.roll(whole, -begin, axis=rank + 1).reshape(chosen.size, -1)
    nowhere = np.full(turns.values.size, -1, dtype=np.int64)
    return GatheredTiles(values, nowhere, np.arange(layout.tensor.values), tiles)


def _gathered(layout: TileLayout, values: Values, starts: Mapping[str, Integers]) -> GatheredTiles:
    """Return tiles as places in an array; one that reaches beyond it is copied, with padding.

    starts: by rank variable, where each tile begins.
    """
    values = np.asarray(values, order="C")  # ascontiguousarray would give a scalar a rank
    ranks = len(values.shape)
    pitches = np.array(values.strides, dtype=np.int64) // values.itemsize
    first = np.zeros(len(next(iter(starts.values()))), dtype=np.int64)
    places, inside = np.zeros([1] * ranks, dtype=np.int64), first == 0
    for number, (rank, low) in enumerate(zip(layout.order, _lows(layout, starts), strict=True)):
        extent = layout.tensor.extents[rank]
        inside &= (low >= 0) & (low + extent <= values.shape[rank])
        first += low * pitches[rank]
        shape = [extent if place == number else 1 for place in range(ranks)]
        places = places + pitches[rank] * np.arange(extent).reshape(shape)
    outside = np.flatnonzero(~inside)
    others = _tiles(layout, values, {name: start[outside] for name, start in starts.items()})
    return GatheredTiles(values, np.where(inside, first, -1), places.ravel(), others)


def _stream(plan: Plan, stream: HostStream, values: Values) -> Values:
    """Return the words of each stream of an input: (streams, words)."""
    read, tensor = plan.read, stream.tensor
    places = place_in_period(read, stream)
    chosen = _first_elements(stream, places)
    shares, visits = held_starts(read, tensor), visit_starts(read, tensor, stream.periods)
    starts = {
        name: (shares[name].ravel()[chosen][:, None, :] + visits[name][None, :, None]).ravel()
        for name in read.einsum.bounds
    }
    streams = _tiles(plan.layouts[tensor.name], values, starts).reshape(stream.number, -1)
    return streams.view(np.uint32) if stream.values_per_wavelet == 2 else streams


def _first_elements(stream: HostStream, places: Integers) -> Integers:
    """Return one element (number in row-major order) for each stream and tile of a period."""
    numbers: Integers = np.arange(places.size).reshape(places.shape)
    if stream.lines == "rows":
        lines, elements = places, numbers
    elif stream.lines == "columns":
        lines, elements = places.T, numbers.T
    else:
        lines, elements = places.reshape(1, -1), numbers.reshape(1, -1)
    _, first = np.unique(lines[0], return_index=True)
    return elements[:, first]


def _indices(layout: TileLayout, starts: Mapping[str, Integers]) -> list[Integers]:
    """Return arrays, one per rank in memory order, of the index of each value of some tiles.

    starts: by rank variable, where each tile begins. The arrays broadcast to (tiles, extents of the
    ranks in memory order).
    """
    tensor, indices = layout.tensor, []
    ranks = len(layout.order)
    for place, (rank, low) in enumerate(zip(layout.order, _lows(layout, starts), strict=True)):
        shape = [1] * (ranks + 1)
        shape[place + 1] = tensor.extents[rank]
        positions = np.arange(tensor.extents[rank]).reshape(shape)
        indices.append(low.reshape(-1, *[1] * ranks) + positions)
    return indices


def _lows(layout: TileLayout, starts: Mapping[str, Integers]) -> Iterator[Integers]:
    """Yield for each rank, in memory order, the first index of some tiles: (tiles,).

    starts: by rank variable, where each tile begins.
    """
    tensor = layout.tensor
    forms = [form for _, form in tensor.access.projection]
    for rank in layout.order:
        form = forms[rank]
        low = np.full(next(iter(starts.values())).shape, form.constant)
        for name, factor in form.terms:
            below = factor * (tensor.tile[name] - 1) if factor < 0 else 0
            low = low + factor * starts[name] + below
        yield low


def _tiles(layout: TileLayout, values: Values, starts: Mapping[str, Integers]) -> Values:
    """Return the values of tiles in memory order: (tiles, values); padding outside of the tensor.

    starts: by rank variable, where each tile begins.
    """
    indices = _indices(layout, starts)
    ordered = values.transpose(layout.order) if layout.order else values
    inside = np.ones((), dtype=bool)
    clipped = []
    for index, size in zip(indices, ordered.shape, strict=True):
        inside = inside & (index >= 0) & (index < size)
        clipped.append(np.clip(index, 0, size - 1))
    number = len(next(iter(starts.values())))
    taken = ordered[tuple(clipped)] if clipped else np.broadcast_to(ordered, (number,))
    padding = number_of(layout.padding, taken.dtype)
    return np.where(inside, taken, padding).reshape(number, layout.tensor.values)


def _sent_values(plan: Plan, edges: Mapping[str, Values]) -> Values:
    """Return the values of the output in the words that left the grid: (positions, values)."""
    read = plan.read
    words = np.concatenate([np.asarray(edges[name]) for name, _ in exit_ports(read, plan.sums)])
    return words.view(NUMPY[read.dtype]) if read.values_per_wavelet(read.output) == 2 else words


def output_of(
    plan: Plan, memory: Mapping[str, Values], edges: Mapping[str, Values]
) -> npt.NDArray[np.float64]:
    """Put the output tensor together from the memories or from the words that left the grid.

    `memory`: (rows, columns, 1, values) by tensor; `edges`: (positions, words) by port. Returns the
    tensor in the shape of its ranks, without padding; zeros at positions that the Einsum does not
    compute.
    """
    read, output = plan.read, plan.read.output
    rows = np.array(plan.sums.head_rows(read.rows))
    columns = np.array(plan.sums.head_columns(read.columns))
    if plan.sums.exit == "none":
        tiles = np.asarray(memory[output.name])[rows[:, None], columns[None, :]]
        tiles = tiles.reshape(len(rows), len(columns), 1, output.values)
    else:
        tiles = _of_ports(plan, _sent_values(plan, edges), len(rows), len(columns))
    shares, visits = element_starts(read), visit_starts(read, output, read.visits(output))
    starts = {
        name: (shares[name][rows[:, None], columns][:, :, None] + visits[name]).ravel()
        for name in read.einsum.bounds
    }
    layout = plan.layouts[output.name]
    forms = [form for _, form in output.access.projection]
    shape = [form.constant + _reach(form.terms, read.einsum.bounds) for form in forms]
    result = np.zeros([shape[rank] for rank in layout.order])
    ordered = tiles.reshape(-1, *(output.extents[rank] for rank in layout.order))
    # An array without ranks takes no row of values: a scalar is what any of its tiles holds.
    result[tuple(_indices(layout, starts))] = ordered if forms else ordered[-1]
    whole = result.transpose(np.argsort(np.array(layout.order, dtype=int)))
    bounds = read.workload_einsum.bounds
    return whole[tuple(slice(form.constant + _reach(form.terms, bounds)) for form in forms)]


def _reach(terms: tuple[tuple[str, int], ...], bounds: Mapping[str, int]) -> int:
    """Return one more than the largest value of affine terms."""
    return 1 + sum(max(0, factor) * (bounds[name] - 1) for name, factor in terms)


def _of_ports(plan: Plan, words: Values, rows: int, columns: int) -> Values:
    """Return the words that left: (rows, columns, visits, values) of the elements with results."""
    read = plan.read
    visits = read.visits(read.output)
    if plan.sums.exit == "south":
        return words.reshape(1, columns, visits, -1)
    if plan.sums.exit == "east":
        return words.reshape(rows, 1, visits, -1)
    # Of each column, the element next to the border comes first.
    by_column = words.reshape(columns, visits, rows, -1)[:, :, ::-1]
    return by_column.transpose(2, 0, 1, 3)
