"""Copy Einsums: they move a tensor and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.mapper.model.path import Hold, Path, keep
from tilewright.mapper.model.view import EinsumView, TensorView

Plan = tuple[Path, Mapping[str, TensorView]]  # the path to analyse and the tensors on it


def no_copy(path: Path, view: EinsumView) -> Plan:
    """Leave an Einsum that computes as it is."""
    return path, view.tensors


def source_to_destination(path: Path, view: EinsumView) -> Plan:
    """Read the source where it lies and write the destination (docs/conventions.md §5).

    What the source holds in, or below, the innermost memory of the destination is the
    destination's own place: nothing moves between them. A source that lies only below that memory
    is read at its outermost holder. If it lies in that memory and nowhere above, only the
    write-backs of the destination are left.
    """
    outputs = {name for name, tensor in view.tensors.items() if tensor.output}
    levels = {
        number: (step.tensor in outputs, view.index[step.component])
        for number, step in enumerate(path.steps)
        if isinstance(step, Hold)
    }
    place = max((level for output, level in levels.values() if output), default=len(view.index))
    source = {number: level for number, (output, level) in levels.items() if not output}
    places_above = {number for number, level in source.items() if level < place}
    if source and min(source.values()) > place:
        places_above = {min(source)}
    shorter = keep(
        path, [n for n in range(len(path.steps)) if n not in source or n in places_above]
    )
    held_tensors = {step.tensor for step in shorter.steps if isinstance(step, Hold)}
    tensors = {name: tensor for name, tensor in view.tensors.items() if name in held_tensors}
    if set(tensors) <= outputs:
        tensors = {name: replace(tensor, leaf=(0, 0, 0)) for name, tensor in tensors.items()}
    return shorter, tensors


def source_moves_up(path: Path, view: EinsumView) -> Plan:
    """Count as accelforge 1.0.467 does: every holder counts as one of the source, data only rise.

    Holders of one component are merged into the first, none is lowered.
    """
    source = next(name for name, tensor in view.tensors.items() if not tensor.output)
    seen: set[str] = set()
    kept_places: list[int] = []
    for number, step in enumerate(path.steps):
        if isinstance(step, Hold):
            if step.component in seen:
                continue
            seen.add(step.component)
        kept_places.append(number)
    merged = keep(path, kept_places)
    steps = tuple(replace(s, tensor=source) if isinstance(s, Hold) else s for s in merged.steps)
    tensor = replace(
        view.tensors[source], output=True, leaf=(0, 0, 0), accumulates=False, streams=False
    )
    return replace(merged, steps=steps), {source: tensor}
