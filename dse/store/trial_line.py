"""A trial as a line of `trials.jsonl`: checked when it is read, with a checksum of its own.

The checksum tells a line that was edited, or damaged by a disk, from one that a run has written. It
is no protection against somebody who wants to deceive.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from tilewright.dse.run.record import Trial
from tilewright.dse.store.safe_files import finite_number

_SUM = "checksum"
_REFUSED = "refused"
"""The key of designs that were drawn in vain; left out where there are none."""
_STATUSES = ("feasible", "infeasible", "violates", "excluded", "failed", "error")


def line_of(trial: Trial) -> str:
    """Return a trial as one line of JSON (no line break); equal trials give equal bytes."""
    text = _dumped(_fields_of(trial))
    return f'{text[:-1]}, "{_SUM}": "{_checksum(text)}"}}'


def _fields_of(trial: Trial) -> dict[str, Any]:
    """Return the fields of a trial; unlike `asdict`, nothing is copied that JSON takes as it is."""
    data = {name: getattr(trial, name) for name in _CHECKS}
    data["mappings"] = [dict(metrics) for metrics in trial.mappings]
    data["breakdown"] = {name: dict(shares) for name, shares in trial.breakdown.items()}
    if trial.refused:
        data[_REFUSED] = [{**each, "point": dict(each["point"])} for each in trial.refused]
    return data


def trial_of(line: str) -> Trial:
    """Return the trial that a line holds.

    Raises ValueError, with what is wrong, for a line that is not as a run writes it.
    """
    try:
        data = json.loads(line, parse_constant=finite_number)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("it is not an object")
    checksum = data.pop(_SUM, None)
    refused = data.get(_REFUSED, [])
    if not (isinstance(refused, list) and all(map(_is_refused, refused))):
        raise ValueError(f"{_REFUSED} must be a list of points with their reasons")
    for name, (check, wanted) in _CHECKS.items():
        if name not in data:
            raise ValueError(f"the key {name} is missing")
        if not check(data[name]):
            raise ValueError(f"{name} must be {wanted}")
    unknown = sorted(set(data) - set(_CHECKS) - {_REFUSED})
    if unknown:
        raise ValueError(f"the key {unknown[0]} is unknown")
    if checksum is None:
        raise ValueError(f"the key {_SUM} is missing")
    if checksum != _checksum(_dumped(data)):
        raise ValueError("it was changed after it was written: its checksum does not agree")
    lists = {"mappings": tuple(data["mappings"]), _REFUSED: tuple(refused)}
    return Trial(**{**data, **lists})


def _dumped(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_value(value: object) -> bool:
    return isinstance(value, bool | str) or _is_number(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _table_of(check: Callable[[object], bool]) -> Callable[[object], bool]:
    def is_table(value: object) -> bool:
        return isinstance(value, dict) and all(check(inner) for inner in value.values())

    return is_table


def _optional(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


def _list_of(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_refused(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"point", "reason"}
        and _table_of(_is_value)(value["point"])
        and _is_text(value["reason"])
    )


_NUMBERS = _table_of(_is_number)
_CHECKS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "number": (_is_count, "a whole number of at least 0"),
    "batch": (_is_count, "a whole number of at least 0"),
    "batch_size": (lambda value: _is_count(value) and value != 0, "a whole number of at least 1"),
    "key": (_is_text, "text"),
    "point": (_table_of(_is_value), "a mapping of knobs to values"),
    "status": (lambda value: value in _STATUSES, f"one of {', '.join(_STATUSES)}"),
    "baseline": (_optional(_is_text), "text or null"),
    "metrics": (_NUMBERS, "a mapping of names to finite numbers"),
    "violations": (_NUMBERS, "a mapping of limits to finite numbers"),
    "reason": (_optional(_is_text), "text or null"),
    "same_as": (_optional(_is_count), "the number of a trial or null"),
    "verified": (_optional(lambda value: isinstance(value, bool)), "true, false or null"),
    "proof": (_optional(lambda value: value in ("optimal", "bounded")), "optimal, bounded or null"),
    "gap": (_optional(_is_number), "a finite number or null"),
    "mappings": (_list_of(_NUMBERS), "a list of metrics"),
    "breakdown": (_table_of(_NUMBERS), "a mapping of metrics to shares by component"),
    "sampler": (lambda value: isinstance(value, dict), "a mapping"),
}
if (*_CHECKS, _REFUSED) != tuple(field.name for field in fields(Trial)):
    raise AssertionError("trial_line checks other fields than a trial has")
