"""Counts of each action of a mapping on a grid, predicted without an execution.

The counts of memories, engines and borders are those of the analytical model of the mapping; the
fabric and the additions over elements follow from the streams and the partial sums.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import prod

from tilewright.mapper.grid.exchanges.padding_fills import padding_fills
from tilewright.mapper.grid.host_streams import host_streams
from tilewright.mapper.grid.partial_sums import (
    exit_hops,
    partial_sums,
    share_hops,
    sum_hops,
    sums_received,
    sums_stored,
)
from tilewright.mapper.grid.rings.shifts import shift_hops
from tilewright.mapper.grid.schemes.ring_reduction import RingReduction
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.evaluation import evaluate_flat
from tilewright.mapper.model.paths.path import paths_of
from tilewright.mapper.model.paths.view import make_view
from tilewright.mapper.model.traffic.padded_spans import zeros_counted
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.formulas.expression import expression

Counts = dict[str, int]


def predict(read: SpaceTime) -> Counts:
    """Predict how often each action of a mapping on a grid happens, without executing it.

    Return {"einsum/component/tensor/action": number}, sorted by key, zeros left out. The unit is
    values, summed over all elements. Actions: read and write
    of the memory outside and of the elements' memories; hop of the fabric (words times links, the
    tensor "None"; a word has one value or two); compute and add of the engine (tensor "None"). They
    are those of all instances
    of the Einsum. The counts of an execution equal these (theory/grid.md §5). Raises AssertionError
    if the model counts a fraction of a value.
    """
    counts: Counter[str] = Counter()
    for key, number in _of_mapping(read).items():
        counts[key] += number
    for part in (_of_fabric(read), _of_zeros(read), _of_shifts(read), _of_fills(read)):
        for key, number in part.items():
            counts[key] += number * read.einsum.n_instances  # the model's have all instances
    return {key: number for key, number in sorted(counts.items()) if number}


def _of_zeros(read: SpaceTime) -> Counts:
    """Return the reads and writes of zeros that sums in f32 of f16 products begin with.

    The first product is added to a zero in memory, unlike in the model. So each value of an output
    tile is written and read once more (theory/grid.md §4). Empty for other number types and
    formulas, and without a scalar in the register.
    """
    if not read.numbers.widens or read.scalar is None or not _is_product(read.einsum):
        return {}
    kept = read.einsum.outputs[0].rank_variables
    values = prod(read.einsum.bounds[name] for name in kept)
    shared = prod(loop.count for loop in read.space if loop.variable in kept)
    number = values * (read.rows * read.columns // shared)
    name = f"{read.einsum.name}/{read.grid.memory.name}/{read.output.name}"
    return {f"{name}/read": number, f"{name}/write": number}


def _is_product(einsum: Einsum) -> bool:
    """Return whether the formula of an Einsum is the product of its two inputs."""
    match expression(einsum):
        case ast.BinOp(left=ast.Name(id="_0"), op=ast.Mult(), right=ast.Name(id="_1")):
            return True
    return False


def _of_shifts(read: SpaceTime) -> Counts:
    """Return what tiles that go round rings add: each element reads what it sends.

    What it receives is in the model's writes of a tensor that enters. What lies in the elements
    before the run has none there.
    """
    counts: Counts = {}
    elements = read.rows * read.columns
    for tensor in read.shifted:
        values = (read.visits(tensor) - 1) * tensor.values * elements
        name = f"{read.einsum.name}/{read.grid.memory.name}/{tensor.name}"
        counts[f"{name}/read"] = values
        counts[f"{name}/write"] = values if tensor.resident else 0
    return counts


def _of_fills(read: SpaceTime) -> Counts:
    """Return the writes of the padding of tensors that stay, before it is added up."""
    counts = Counter[str]()
    for fill in padding_fills(read):
        name = f"{read.einsum.name}/{read.grid.memory.name}/{fill.tensor}/write"
        counts[name] += fill.values * int(fill.places(read).sum())
    return counts


def _of_mapping(read: SpaceTime) -> Counts:
    """Return the counts of the analytical model of the mapping: values read, written and computed.

    Without the components whose counts do not hold for the grid (`_not_counted`).
    """
    view = make_view(zeros_counted(read.einsum), read.flat)  # the elements take whole tiles
    runs = [(path, view) for path in paths_of(read.mapping)]
    score = evaluate_flat(runs, conventions_called("default"))
    values: Counts = {}
    for key, actions in score.actions.items():
        _, component, tensor, action = key.split("/")
        if component in _not_counted(read):
            continue
        number = Fraction(actions) * _values_per_action(read, component, tensor, action)
        if number.denominator != 1:
            raise AssertionError(f"{key}: {number} values are not whole")
        values[key] = int(number)
    return values


def _not_counted(read: SpaceTime) -> tuple[str, ...]:
    """Return the names of the components whose counts in the model do not hold for the grid.

    They are the operand register, which is inside the engine, and the network: the model's has one
    source in a corner, but here each line of the grid has a border of its own.
    """
    components = (read.grid.register, read.grid.fabric)
    return tuple(component.name for component in components if component is not None)


def _values_per_action(read: SpaceTime, component: str, tensor: str, action: str) -> Fraction:
    if tensor == "None":
        return Fraction(1)
    table: Mapping[str, Fraction] = read.flat.component(component).action(action).values_per_action
    return table[tensor]


def _of_ring(read: SpaceTime, ring: RingReduction) -> Counts:
    """Return the hops, and what an all-reduce by a ring adds to the model's counts."""
    name, grid = read.einsum.name, read.grid
    rings = read.columns * read.rows // ring.elements
    return {
        f"{name}/{_fabric(read)}/None/hop": _stream_hops(read) + rings * ring.hops,
        f"{name}/{grid.memory.name}/{read.output.name}/read": rings * ring.reads,
        f"{name}/{grid.memory.name}/{read.output.name}/write": rings * ring.writes,
        f"{name}/{grid.compute.name}/None/add": rings * ring.additions,
    }


def _fabric(read: SpaceTime) -> str:
    return read.grid.fabric.name if read.grid.fabric is not None else "fabric"


def _stream_hops(read: SpaceTime) -> int:
    """Return the words times links of the inputs, those that shift among them."""
    return sum(s.number * s.words * s.hops for s in host_streams(read)) + shift_hops(read)


def _of_fabric(read: SpaceTime) -> Counts:
    """Return the hops, and what the additions over elements add to the model's counts.

    An element that receives r partial sums adds r times; r - 1 of them pass through its memory, or
    all where it stores them.
    Where the result stays in the memory, the last one does, too.
    """
    name, grid, output = read.einsum.name, read.grid, read.output
    sums = partial_sums(read)
    if sums.ring is not None:
        return _of_ring(read, sums.ring)
    received = sums_received(read, sums)
    values, words = (read.visits(output) * n for n in (output.values, read.words(output)))
    through = int((received - 1).clip(min=0).sum()) + sums_stored(read, sums)
    reads = writes = through
    if output.resident:  # each element but the heads sends, which the model does not count
        heads = len(sums.head_columns(read.columns)) * len(sums.head_rows(read.rows))
        reads += read.columns * read.rows - heads
        stored = int((received[sums.group_rows - 1 :: sums.group_rows, :] > 0)[
            :, sums.group_columns - 1 :: sums.group_columns
        ].sum())  # fmt: skip
        reads, writes = reads + stored, writes + stored
        if sums.shared:  # the heads send the tile, all others write it
            reads, writes = reads + heads, writes + read.columns * read.rows - heads
    sum_and_exit = sum_hops(read, sums) + exit_hops(read, sums) + share_hops(read, sums)
    return {
        f"{name}/{_fabric(read)}/None/hop": _stream_hops(read) + words * sum_and_exit,
        f"{name}/{grid.memory.name}/{output.name}/read": values * reads,
        f"{name}/{grid.memory.name}/{output.name}/write": values * writes,
        f"{name}/{grid.compute.name}/None/add": values * int(received.sum()),
    }
