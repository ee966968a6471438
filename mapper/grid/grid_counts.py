"""Counts of each action of a grid candidate, predicted without an execution.

The counts of memories, engine and edges are those of the analytical model of the mapping; the
fabric and the memory accesses of a reduction follow the closed forms of collectives.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from tilewright.mapper.grid.candidate import Candidate
from tilewright.mapper.grid.collectives import CollectiveCounts, count_grid, count_line
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.evaluation import evaluate_flat
from tilewright.mapper.model.path import paths_of
from tilewright.mapper.model.view import make_view

Counts = dict[str, int]


def predict(candidate: Candidate) -> Counts:
    """Predict how often each action of a candidate happens, without simulating it.

    Return {"einsum/component/tensor/action": number}, sorted by key, zeros left out. The unit is
    values (one value is one 32-bit word on the fabric), summed over all elements. Actions: read and
    write of the memory outside (words that cross the edge of the grid) and of the element memories;
    hop of the fabric (words times links crossed, tensor "None"; component "fabric" if the
    architecture has no Network); compute and add of the engine (tensor "None"). Values read,
    written and computed come from the analytical model of the candidate's mapping; hops, and what a
    reduction adds, from closed forms (theory/wafer.md §7.2). The simulated counts are compared with
    these. Raises AssertionError if the model counts a fraction of a value.
    """
    counts: Counter[str] = Counter()
    for key, number in _of_mapping(candidate).items():
        counts[key] += number
    for key, number in _of_fabric(candidate).items():
        counts[key] += number
    return {key: number for key, number in sorted(counts.items()) if number}


def _of_mapping(candidate: Candidate) -> Counts:
    """Return the values read, written and computed by the analytical model of the mapping."""
    view = make_view(candidate.einsum, candidate.flat)
    runs = [(path, view) for path in paths_of(candidate.mapping)]
    score = evaluate_flat(runs, conventions_called("default"))
    values: Counts = {}
    for key, actions in score.actions.items():
        _, component, tensor, action = key.split("/")
        if component in _not_counted(candidate):
            continue
        per_action = _values_per_action(candidate, component, tensor, action)
        number = Fraction(actions) * per_action
        if number.denominator != 1:
            raise AssertionError(f"{key}: {number} values are not whole")
        values[key] = int(number)
    return values


def _not_counted(candidate: Candidate) -> tuple[str, ...]:
    """Return the components whose counts in the model do not hold for the grid.

    The operand register is inside the engine. The model's network has one source in a corner, but
    here each line of the grid has an edge of its own.
    """
    components = (candidate.grid.register, candidate.grid.fabric)
    return tuple(component.name for component in components if component is not None)


def _values_per_action(candidate: Candidate, component: str, tensor: str, action: str) -> Fraction:
    if tensor == "None":
        return Fraction(1)
    table: Mapping[str, Fraction] = (
        candidate.flat.component(component).action(action).values_per_action
    )
    return table[tensor]


def _of_fabric(candidate: Candidate) -> Counts:
    name, grid = candidate.einsum.name, candidate.grid
    fabric = grid.fabric.name if grid.fabric is not None else "fabric"
    counts: Counts = {}
    hops = sum(
        _elements(candidate, tensor.name) * _multicast_hops(candidate, tensor.name)
        for tensor in candidate.tensors
        if not tensor.resident and not tensor.access.output
    )
    output = candidate.output
    if not output.resident:
        words = _elements(candidate, output.name)
        per_word = _reduction(candidate)
        memory = grid.memory.name
        # The model already reads each partial sum once to drain it.
        drained = grid.columns * grid.rows // _lines(candidate)
        hops += words * per_word.hops
        counts[f"{name}/{memory}/{output.name}/read"] = words * (per_word.memory_reads - drained)
        counts[f"{name}/{memory}/{output.name}/write"] = words * per_word.memory_writes
        counts[f"{name}/{grid.compute.name}/None/add"] = words * per_word.additions
    counts[f"{name}/{fabric}/None/hop"] = hops
    return counts


def _elements(candidate: Candidate, tensor: str) -> int:
    return candidate.einsum.access(tensor).tile_size(candidate.einsum.bounds)


def _multicast_hops(candidate: Candidate, tensor: str) -> int:
    """Return the hops of one word from the edge to all elements that need it."""
    grid, split = candidate.grid, candidate.tensor(tensor).split
    if "Y" in split:
        return grid.columns - 1
    if "X" in split:
        return grid.rows - 1
    return grid.columns * grid.rows - 1


def _reduction(candidate: Candidate) -> CollectiveCounts:
    grid, split, scheme = candidate.grid, candidate.output.split, candidate.choices.reduction
    if "X" in split:
        return count_line(grid.rows, scheme)
    if "Y" in split:
        return count_line(grid.columns, scheme)
    return count_grid(grid.columns, grid.rows, scheme)


def _lines(candidate: Candidate) -> int:
    """Return the number of separate reductions: one per group of elements with one output word."""
    grid, split = candidate.grid, candidate.output.split
    return grid.columns if "X" in split else grid.rows if "Y" in split else 1
