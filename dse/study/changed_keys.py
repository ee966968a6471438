"""Values of a study's data by dotted path: replace some, and tell which differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.arch.errors import SpecError, Where
from tilewright.dse.study.design_space import Value


def differing_keys(
    old_data: Mapping[str, Any], new_data: Mapping[str, Any], path: str = ""
) -> list[str]:
    """Return a line per key of two nested mappings whose values differ.

    Each line is like `search.trials: 60 -> 100`; `path` is the dotted prefix of all keys.
    """
    differences: list[str] = []
    for key in sorted(set(old_data) | set(new_data)):
        name = f"{path}.{key}" if path else str(key)
        old, new = old_data.get(key), new_data.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            differences += differing_keys(old, new, name)
        elif old != new or type(old) is not type(new):
            differences.append(f"{name}: {_shown(old)} -> {_shown(new)}")
    return differences


def replaced(data: Any, settings: Mapping[str, Value]) -> Any:
    """Return a copy of nested data with the values at dotted paths replaced.

    Paths are like `search.batch` or `objectives.0.goal`; a missing key is added. Raises SpecError
    for a missing item of a list or a path below a plain value.
    """
    for key, value in settings.items():
        data = _with(data, key.split("."), value, key)
    return data


def _with(data: Any, steps: list[str], value: Value, key: str) -> Any:
    if not steps:
        return value
    head, remaining_steps = steps[0], steps[1:]
    if isinstance(data, list):
        if not head.isdigit() or int(head) >= len(data):
            raise SpecError(f"--set {key}: the list has no item `{head}`", where=_COMMAND_LINE)
        position = int(head)
        return [
            *data[:position],
            _with(data[position], remaining_steps, value, key),
            *data[position + 1 :],
        ]
    if data is not None and not isinstance(data, dict):
        raise SpecError(f"--set {key}: `{head}` lies below a plain value", where=_COMMAND_LINE)
    table = data or {}
    for end in range(len(steps), 1, -1):  # the knobs of a space have dots in their names
        name = ".".join(steps[:end])
        if name in table:
            return {**table, name: _with(table[name], steps[end:], value, key)}
    return {**table, head: _with(table.get(head), remaining_steps, value, key)}


_COMMAND_LINE = Where("command line")


def _shown(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"
