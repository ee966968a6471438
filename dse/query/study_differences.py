"""What two studies ask differently: objectives, files, options, limits, knobs and their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.dse.query.open_run import RunTrials
from tilewright.dse.run.record import Objective
from tilewright.dse.study.changed_keys import differing_keys
from tilewright.dse.study.design_space import Dimension, canonical_json
from tilewright.dse.study.knobs import knob_text

_ASKED = ("arch", "workload", "workloads", "model", "machine", "mapper", "constraints")
_MOST_VALUES = 6


def study_differences(first: RunTrials, second: RunTrials) -> Iterator[str]:
    """Yield a line for each thing that the studies of two runs, A and B, ask differently.

    Those are files, options of the mapper, limits, knobs and values of knobs.
    """
    old, new = (run.directory.environment() for run in (first, second))
    yield from differing_keys(*(_tables(_asked(each["spec"])) for each in (old, new)))
    for name, digest in old["files"].items():
        if new["files"].get(name, digest) != digest:
            yield f"{name}: other contents"
    yield from _differences_of_knobs(first.spec.space.dimensions, second.spec.space.dimensions)


def objectives_text(objectives: Sequence[Objective]) -> str:
    """Return objectives in words: their metrics, in order, with `maximize` where it is so."""
    return ", ".join("maximize " * (o.goal == "maximize") + o.metric for o in objectives)


def _differences_of_knobs(first: Sequence[Dimension], second: Sequence[Dimension]) -> Iterator[str]:
    in_a = {dimension.path: dimension for dimension in first}
    in_b = {dimension.path: dimension for dimension in second}
    for path in dict.fromkeys([*in_a, *in_b]):
        if path not in in_b:
            yield f"knob {path}: in A alone ({_values_text(in_a[path], in_b.get(path))})"
        elif path not in in_a:
            yield f"knob {path}: in B alone ({_values_text(in_b[path], in_a.get(path))})"
        else:
            sides = {"A": (in_a[path], in_b[path]), "B": (in_b[path], in_a[path])}
            texts = {side: _values_text(*pair) for side, pair in sides.items()}
            parts = [f"in {side} alone {text}" for side, text in texts.items() if text]
            if parts:
                yield f"knob {path}: {'; '.join(parts)}"


def _values_text(dimension: Dimension, other: Dimension | None) -> str:
    """Return the values of a knob that the same knob of another study does not have."""
    others = set(map(canonical_json, other.values)) if other is not None else set()
    values = [value for value in dimension.values if canonical_json(value) not in others]
    shown = ", ".join(knob_text(dimension.path, value) for value in values[:_MOST_VALUES])
    return shown if len(values) <= _MOST_VALUES else f"{shown}, … ({len(values)} values)"


def _asked(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {key: spec[key] for key in _ASKED if key in spec}


def _tables(data: Any) -> Any:
    """Return data with each list as a table by position."""
    if isinstance(data, list):
        data = {str(number): value for number, value in enumerate(data)}
    if not isinstance(data, dict):
        return data
    return {key: _tables(value) for key, value in data.items()}
