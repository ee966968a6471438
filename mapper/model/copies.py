"""Copy Einsums move a tensor and compute nothing: the holders and tensors that the model counts.

Example: `Y[m] = A[m]` with A in DRAM and Y in a buffer reads A in DRAM and writes Y in the buffer
(docs/conventions.md §5, theory/copies.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from tilewright.mapper.model.paths.path import Hold, Path, keep
from tilewright.mapper.model.paths.view import EinsumView, Requests, TensorView

_NOTHING = Requests(0, 0, 0)

CountedPath = tuple[Path, Mapping[str, TensorView]]  # a path to count, and the tensors on it


def no_copy(path: Path, view: EinsumView) -> CountedPath:
    """Return a path and its tensors unchanged, for an Einsum that computes.

    It stands where the conventions have a rule for copy Einsums.
    """
    return path, view.tensors


def source_to_destination(path: Path, view: EinsumView) -> CountedPath:
    """Return the path and tensors by which a copy Einsum is counted: read source, write copy.

    Holders of the source in or below the innermost memory of the destination are left out: nothing
    moves between them and the destination. A source that lies only below that memory is read at
    its outermost holder. If no source holder is left, the destination is only written back.
    Result: (shortened path, tensor name to its view) (docs/conventions.md §5).
    """
    outputs = {name for name, tensor in view.tensors.items() if tensor.output}
    source = _levels(path, view, view.tensors.keys() - outputs)
    destination = max(_levels(path, view, outputs).values(), default=len(view.index))
    counted = _source_holders(source, destination)
    shorter = keep(path, [n for n in range(len(path.steps)) if n not in source or n in counted])
    held_tensors = {step.tensor for step in shorter.steps if isinstance(step, Hold)}
    tensors = {name: tensor for name, tensor in view.tensors.items() if name in held_tensors}
    if set(tensors) <= outputs:
        tensors = {name: replace(tensor, leaf=_NOTHING) for name, tensor in tensors.items()}
    return shorter, tensors


def _levels(path: Path, view: EinsumView, tensors: AbstractSet[str]) -> dict[int, int]:
    """Return, for the holders of some tensors, place in the path: level of the component."""
    return {
        place: view.index[step.component]
        for place, step in enumerate(path.steps)
        if isinstance(step, Hold) and step.tensor in tensors
    }


def _source_holders(source: Mapping[int, int], destination: int) -> set[int]:
    """Return the places of the source's holders that count: those above the destination.

    `source`: place to level; `destination`: level of its innermost memory. If all are below it, the
    outermost one counts.
    """
    if source and min(source.values()) > destination:
        return {min(source)}
    return {place for place, level in source.items() if level < destination}


def source_moves_up(path: Path, view: EinsumView) -> CountedPath:
    """Return the path and tensors by which accelforge 1.0.467 counts a copy Einsum.

    Source and copy are one tensor there: each holder holds the source, and two holders in one
    memory are one, at the place of the outer one. Its values only move outwards, as those of an
    output do that nobody computes: each inner memory is read, and the next outer one is written.
    Result: the path with these holders, and the source's view by its name (docs/conventions.md §5).
    """
    source = next(name for name, tensor in view.tensors.items() if not tensor.output)
    seen: set[str] = set()
    places: list[int] = []
    for number, step in enumerate(path.steps):
        if isinstance(step, Hold):
            if step.component in seen:
                continue
            seen.add(step.component)
        places.append(number)
    merged = keep(path, places)
    steps = tuple(replace(s, tensor=source) if isinstance(s, Hold) else s for s in merged.steps)
    tensor = replace(
        view.tensors[source], output=True, leaf=_NOTHING, accumulates=False, streams=False
    )
    return replace(merged, steps=steps), {source: tensor}
