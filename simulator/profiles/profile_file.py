"""The YAML form of machine profiles: each field with its value and its source.

    hop_cycles: {value: 2, source: "FAB 10"}
    loop_back_edge_cycles: {value: 9, assumed: "as wse3"}

A field without `source` or `assumed` is refused, so that no number is without an origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from tilewright.arch.errors import Where
from tilewright.arch.files.document import Document
from tilewright.simulator.isa.machine_errors import ProfileError
from tilewright.simulator.isa.operations import OPERATIONS

AT_LEAST: Final[dict[str, int]] = {
    "sram_bytes": 2,
    "sram_reserved_bytes": 0,
    "colors": 1,
    "local_tasks": 1,
    "microthreads": 1,
    "router_buffer_words": 1,
    "border_channels": 1,
    "hop_cycles": 1,
    "dispatch_to_link_cycles": 2,
    "arrival_to_execute_cycles": 1,
    "completion_cycles": 0,
    "descriptor_load_cycles": 0,
    "descriptor_use_cycles": 0,
    "extended_descriptor_cycles": 0,
    "issue_cycles": 1,
    "decode_to_execute_cycles": 0,
    "memory_completion_cycles": 0,
    "loop_back_edge_cycles": 1,
    "increment_offset_cycles": 0,
    "scalar_load_cycles": 0,
    "task_control_cycles": 1,
    "scalar_operation_cycles": 1,
    "scalar_operand_cycles": 0,
    "map_step_cycles": 1,
    "counter_cycles": 1,
    "branch_taken_cycles": 1,
    "branch_not_taken_cycles": 1,
    "task_switch_cycles": 0,
    "task_end_cycles": 0,
    "fabric_inputs_per_operation": 1,
    "dsr_registers": 1,
    "xdsr_registers": 0,
    "stride_registers": 0,
    "fifo_alignment_bytes": 1,
}
"""The integer fields and their least values."""
SWITCHES: Final = (
    "color_swap",
    "explicit_microthread",
    "filter_counter_inclusive",
    "fifo_full_action",
    "fifo_simd",
    "priority_on_descriptors",
    "queue_flush",
    "switch_both_directions",
    "unblocks_queues",
)
"""Fields that are true or false."""
MOST: Final = 1_000_000
"""Greatest whole number of a profile, where LIMITS has no other."""
LIMITS: Final[dict[str, int]] = {
    "colors": 32,
    "local_tasks": 62,
    "microthreads": 8,
    "sram_bytes": 1 << 30,
    "sram_reserved_bytes": 1 << 30,
}
"""Greatest values that the engine's tables hold."""
LARGEST: Final = 10**15
"""Greatest number of a profile that need not be whole; the least is its inverse."""
OTHER: Final = (
    "bank_conflict_factor",
    "stride_limits",
    "clock_hz",
    "cycles_per_wavelet",
    "switchable_colors",
    "input_queue_words",
    "output_queue_words",
    *SWITCHES,
)


@dataclass(frozen=True, slots=True)
class OperationTiming:
    """How fast one operation on descriptors runs on operands in memory (theory/wafer.md §3.2).

    A group of `group` values takes `cycles[s]` cycles if s sources are vectors in memory (s = 0, 1,
    2); a reduction into a scalar takes `reduction` cycles per value.
    """

    group: int
    cycles: tuple[Fraction, Fraction, Fraction]
    reduction: Fraction

    def per_element(self, memory_sources: int) -> Fraction:
        """Return the cycles per value if so many sources (0 to 2) are vectors in memory."""
        return self.cycles[memory_sources] / self.group


def read(document: Document) -> dict[str, object]:
    """Return the fields of a machine profile from the data of its file, converted to their types.

    Raises ProfileError, with the place, for a missing or unknown field or a wrong value.
    """
    data = _mapping(document.data, document.where())
    names = {"name", "operations", *AT_LEAST, *OTHER}
    for key in data:
        if key not in names:
            raise _unknown(str(key), sorted(names), document.where_key((str(key),)))
    missing = sorted(names - set(data))
    if missing:
        raise ProfileError(
            "the profile lacks fields", where=document.where(), value=", ".join(missing)
        )
    values: dict[str, object] = {"name": str(data["name"])}
    sources: dict[str, str] = {}
    for key in sorted(names - {"name", "operations"}):
        where = document.where((key,))
        entry = _mapping(data[key], where)
        if "value" not in entry:
            raise ProfileError("a field needs `value` and `source` or `assumed`", where=where)
        values[key] = convert(key, entry["value"], where)
        sources[key] = _source(entry, where)
    values["operations"] = _operations(document, sources)
    values["sources"] = MappingProxyType(sources)
    return values


def changed_fields(
    operations: Mapping[str, OperationTiming],
    sources: Mapping[str, str],
    values: Mapping[str, object],
) -> dict[str, Any]:
    """Return the fields of a profile that some changes give new values, by name.

    `operations`, `sources`: of the old profile; `values`: changes by field or by
    `operations.name.field`. The sources say that a study changed them. Raises ProfileError.
    """
    changes: dict[str, Any] = {}
    timings = dict(operations)
    for path, value in values.items():
        words = path.split(".")
        if words[0] == "operations" and len(words) == 3:
            timings[words[1]] = _changed_timing(timings, path, value)
        elif path in AT_LEAST or path in OTHER:
            changes[path] = convert(path, value, None)
        elif path == "name":
            changes[path] = str(value)
        else:
            raise _unknown(path, sorted([*AT_LEAST, *OTHER]), None)
    all_sources = {**sources, **dict.fromkeys(values, "changed by the study")}
    changes["operations"] = MappingProxyType(timings)
    changes["sources"] = MappingProxyType(all_sources)
    return changes


def convert(field: str, value: object, where: Where | None) -> object:
    """Return the value of a field of a machine profile in the field's type.

    `field`: its name; `value`: as the file or a study gives it. Raises ProfileError, at `where`, if
    the value is wrong.
    """
    if field in AT_LEAST:
        return _integer(field, value, where)
    if field in SWITCHES:
        if not isinstance(value, bool):
            raise ProfileError(f"{field} is not true or false", where=where, value=value)
        return value
    if field == "switchable_colors" or field.endswith("queue_words"):
        return _integers(field, value, where)
    if field == "stride_limits":
        return _word(field, value, ("none", "documentation", "inverse"), where)
    number = rational(field, value, where)
    if field in ("cycles_per_wavelet", "bank_conflict_factor"):
        if number < 1:
            raise ProfileError(f"{field} is below 1", where=where, value=value)
        return number
    return float(number)


def _integers(field: str, value: object, where: Where | None) -> tuple[int, ...]:
    if not isinstance(value, list | tuple):
        raise ProfileError(f"{field} needs a list of whole numbers", where=where, value=value)
    if field.endswith("queue_words") and not 1 <= len(value) <= 8:
        raise ProfileError(f"{field} needs 1 to 8 lengths", where=where, value=value)
    return tuple(_at_least(field, item, 0, where) for item in value)


def _word(field: str, value: object, words: tuple[str, ...], where: Where | None) -> str:
    if value not in words:
        raise ProfileError(
            f"{field} is an unknown word", where=where, value=value, instead=", ".join(words)
        )
    return str(value)


def rational(field: str, value: object, where: Where | None) -> Fraction:
    """Return a positive exact number, written as a number or as text like "100/482".

    Raises ProfileError, at `where`, which names the field.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
            raise ValueError
        number = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ProfileError(f"{field} is not a number", where=where, value=value) from None
    if number <= 0:
        raise ProfileError(f"{field} is not positive", where=where, value=value)
    if not Fraction(1, LARGEST) <= number <= LARGEST:
        raise ProfileError(
            f"{field} is too large or too small",
            where=where,
            value=value,
            instead=f"between {1 / LARGEST:g} and {LARGEST:g}",
        )
    return number


def _integer(field: str, value: object, where: Where | None) -> int:
    return _at_least(field, value, AT_LEAST[field], where)


def _at_least(field: str, value: object, least: int, where: Where | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ProfileError(
            f"{field} is not a whole number from {least} on", where=where, value=value
        )
    greatest = LIMITS.get(field, MOST)
    if value > greatest:
        raise ProfileError(
            f"{field} is above {greatest}, the most that the engine holds", where=where, value=value
        )
    return value


def _operations(document: Document, sources: dict[str, str]) -> Mapping[str, OperationTiming]:
    rows = document.data["operations"]  # type: ignore[index]
    if not isinstance(rows, list):
        raise ProfileError("operations is not a list", where=document.where(("operations",)))
    timings: dict[str, OperationTiming] = {}
    for number, raw in enumerate(rows):
        where = document.where(("operations", number))
        row = _mapping(raw, where)
        for key in row:
            if key not in {"names", "group", "cycles", "reduction", "source", "assumed"}:
                raise _unknown(str(key), ["names", "group", "cycles", "reduction"], where)
        timing = OperationTiming(
            _at_least("group", row.get("group"), 1, where),
            _cycles(row.get("cycles"), where),
            rational("reduction", row.get("reduction"), where),
        )
        for name in _names(row.get("names", ()), where):
            if name not in OPERATIONS:
                raise _unknown(str(name), list(OPERATIONS), where)
            timings[name] = timing
            sources[f"operations.{name}"] = _source(row, where)
    missing = [name for name in OPERATIONS if name not in timings]
    if missing:
        raise ProfileError(
            "operations without timing",
            where=document.where(("operations",)),
            value=", ".join(missing),
        )
    return MappingProxyType(timings)


def _names(value: object, where: Where | None) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ProfileError("names needs a list of operations", where=where, value=value)
    return list(value)


def _cycles(value: object, where: Where | None) -> tuple[Fraction, Fraction, Fraction]:
    if not isinstance(value, list | tuple) or len(value) != 3:
        raise ProfileError(
            "cycles needs three numbers: with 0, 1 and 2 memory sources", where=where, value=value
        )
    zero, one, two = (rational("cycles", item, where) for item in value)
    return zero, one, two


def _changed_timing(
    operations: Mapping[str, OperationTiming], path: str, value: object
) -> OperationTiming:
    _, name, field = path.split(".")
    if name not in operations:
        raise _unknown(name, list(operations), None)
    timing = operations[name]
    if field == "group":
        return replace(timing, group=_at_least(path, value, 1, None))
    if field == "reduction":
        return replace(timing, reduction=rational(path, value, None))
    if field == "cycles":
        return replace(timing, cycles=_cycles(value, None))
    raise _unknown(path, ["group", "cycles", "reduction"], None)


def _mapping(value: object, where: Where | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProfileError("this is not a mapping of fields", where=where, value=value)
    return value


def _source(entry: Mapping[str, Any], where: Where | None) -> str:
    if entry.get("source"):
        return str(entry["source"])
    if entry.get("assumed"):
        return f"assumed: {entry['assumed']}"
    raise ProfileError("a number needs `source:` or `assumed:` beside it", where=where)


def _unknown(name: str, names: list[str], where: Where | None) -> ProfileError:
    close = get_close_matches(name, names, n=1)
    return ProfileError(
        "unknown profile field",
        where=where,
        value=name,
        instead=close[0] if close else "one of " + ", ".join(names),
    )
