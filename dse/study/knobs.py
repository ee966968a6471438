"""Knobs as people write them: short names, sizes with units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tilewright.arch.quantities import with_unit
from tilewright.dse.study.design_space import Space, Value

_UNITS = {
    "size": "bit",
    "energy": "J",
    "latency": "s",
    "area": "m²",
    "leak_power": "W",
    "throughput": "Hz",
    "clock_hz": "Hz",
}


def labels_of(space: Space) -> list[str]:
    """Return a short label for each knob of a space.

    It is the name that the study gives the knob, else the one that `knob_labels` makes of its path.
    """
    labels = knob_labels(space.paths)
    return [d.name or label for d, label in zip(space.dimensions, labels, strict=True)]


def knobs_text(space: Space, point: Mapping[str, Value]) -> str:
    """Return some knobs, by path, as text: their labels with their values."""
    labels = dict(zip(space.paths, labels_of(space), strict=True))
    return ", ".join(f"{labels[path]} {knob_text(path, value)}" for path, value in point.items())


def knob_labels(paths: Sequence[str]) -> list[str]:
    """Return a short label for each knob path: its shortest ending that no other path has.

    The kind (`arch`) is left out; size, fanout and energy keep the component: `Buffer.size`.
    """
    split_paths = [path.split(".")[1:] for path in paths]
    labels: list[str] = []
    for split_path in split_paths:
        length = 1
        while (
            length < len(split_path)
            and _endings(split_paths, length)[".".join(split_path[-length:])] > 1
        ):
            length += 1
        # `size` alone says nothing: name the component, too
        if split_path[-1] in ("size", "fanout", "energy") and length < 2:
            length = min(2, len(split_path))
        labels.append(".".join(split_path[-length:]))
    return labels


def knob_text(path: str, value: Value) -> str:
    """Return a knob's value as text for people: sizes, energies, areas, … with their unit."""
    if isinstance(value, bool):
        return str(value).lower()  # as in the file
    if isinstance(value, str):
        return value
    is_field = path.startswith(("arch.", "machine.")) and not path.startswith("arch.variables.")
    unit = _UNITS.get(path.rpartition(".")[2]) if is_field else None
    if unit is not None:
        return with_unit(value, unit, 3 if unit == "bit" else 6)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _endings(split_paths: Sequence[Sequence[str]], length: int) -> Counter[str]:
    return Counter(".".join(split_path[-length:]) for split_path in split_paths)
