"""A machine for layouts: units, memories, formats, rates, read from YAML with sources.

    alignment: {value: 16, source: "..."}

A number without `source` or `assumed` is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tilewright.arch.errors import SpecError
from tilewright.arch.files.source import load_document
from tilewright.arch.number_format import number_format

if TYPE_CHECKING:
    from tilewright.mapper.layout.legality.placement_rules import PartitionedMemory

FOLDER: Final = Path(__file__).parent
_TOP: Final = (
    "name",
    "units",
    "formats",
    "tile_rows",
    "tile_columns",
    "memories",
    "rates",
    "nodes",
)
_MEMORY: Final = ("units", "unit_bytes", "alignment", "partitions", "banks", "bank_bytes")
_SPACES: Final = ("l1", "dram", "psum", "sbuf", "system", "mmio")


@dataclass(frozen=True, slots=True)
class UnitMemory:
    """Memory of one unit of a machine.

    `units`: extents of the units that have it; `unit_bytes`: of one of them; `alignment`: bytes to
    a multiple of which shards must start; `partitions`, `banks`: 1 where there are none.
    """

    space: str
    units: tuple[int, ...]
    unit_bytes: int
    alignment: int = 1
    partitions: int = 1
    banks: int = 1

    def partitioned(self) -> PartitionedMemory | None:
        """Return the memory as one of partitions and banks, or None if it is none."""
        from tilewright.mapper.layout.legality.placement_rules import PartitionedMemory

        size = self.unit_bytes // (self.partitions * self.banks)
        match self.space:
            case "psum" | "sbuf":
                return PartitionedMemory(self.space, self.partitions, self.banks, size)
        return None


@dataclass(frozen=True, slots=True)
class LayoutMachine:
    """All that legality and costs of layouts need to know about a machine.

    `formats`: names of the number formats it computes with; `tile_rows`, `tile_columns`: sides that
    a tile may have (empty: any); `node_columns`, `node_rows`: network column of each column of
    units, row of each row; `dram_nodes`: node (column, row) of each bank of DRAM (all empty:
    not known); `memories`: by memory space; `rates`: clock in Hz,
    bytes per second or per cycle, cycles per tile, as their names say; `sources`: of every number,
    by name.
    """

    name: str
    units: tuple[int, ...]
    formats: tuple[str, ...]
    tile_rows: tuple[int, ...] = ()
    tile_columns: tuple[int, ...] = ()
    node_columns: tuple[int, ...] = ()
    node_rows: tuple[int, ...] = ()
    dram_nodes: tuple[tuple[int, int], ...] = ()
    memories: Mapping[str, UnitMemory] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def unit_count(self) -> int:
        """Number of compute units."""
        return prod(self.units)


def machine_names() -> tuple[str, ...]:
    """Return the names of the machines that ship with Tilewright."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def machine_file(name: str, base: Path | None = None) -> Path:
    """Return the file of a machine: a path (below `base` if given), or the name of a shipped one.

    Raises SpecError if there is neither.
    """
    for path in ((base or Path()) / name, FOLDER / f"{name}.yaml"):
        if path.is_file():
            return path.resolve()
    raise SpecError(
        f"no machine {name!r}", instead=f"one of {', '.join(machine_names())}, or a YAML file"
    )


@lru_cache(maxsize=32)
def load_machine(name: str) -> LayoutMachine:
    """Return a machine by the name of a shipped one, or by the path of a YAML file.

    Raises SpecError for an unknown name, for a field that is missing or unknown, and for a number
    without a source.
    """
    return changed_machine(name, {})


def changed_machine(name: str, values: Mapping[str, object]) -> LayoutMachine:
    """Return a machine with some numbers replaced, by dotted path such as `rates.clock_hz`.

    Raises SpecError like `load_machine`, and for a path that the file has no number at.
    """
    path = FOLDER / f"{name}.yaml" if name in machine_names() else machine_file(name)
    data: Any = load_document(path).data
    for field_path, value in values.items():
        data = _replaced(data, field_path.split("."), value, field_path)
    return _MachineReader(str(path)).machine(data)


def _replaced(data: Any, steps: list[str], value: object, field_path: str) -> Any:
    if not steps and isinstance(data, Mapping) and "value" in data:
        return {"value": value, "assumed": "set by the design"}
    if not steps or not isinstance(data, Mapping) or steps[0] not in data:
        known = sorted(data) if isinstance(data, Mapping) and "value" not in data else []
        raise SpecError(
            f"the machine has no number {field_path}",
            value=field_path,
            instead=f"one of {', '.join(known)}" if known else None,
        )
    head, *rest = steps
    return {**data, head: _replaced(data[head], rest, value, field_path)}


class _MachineReader:
    """Reads a machine's file and collects the source of every number."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.sources: dict[str, str] = {}

    def machine(self, data: Any) -> LayoutMachine:
        top = self._mapping(data, "the file", _TOP)
        formats = tuple(str(name) for name in self._value(top, "formats", "formats"))
        for name in formats:
            number_format(name)
        units = self._integers(top, "units", "units")
        nodes = self._mapping(top.get("nodes", {}), "nodes", ("columns", "rows", "dram"))
        return LayoutMachine(
            name=str(top.get("name", self.file)),
            units=units,
            formats=formats,
            tile_rows=self._integers(top, "tile_rows", "tile_rows"),
            tile_columns=self._integers(top, "tile_columns", "tile_columns"),
            node_columns=self._integers(nodes, "columns", "nodes.columns"),
            node_rows=self._integers(nodes, "rows", "nodes.rows"),
            dram_nodes=self._pairs(nodes, "dram", "nodes.dram"),
            memories={
                space: self._memory(space, entry, units)
                for space, entry in self._mapping(top.get("memories"), "memories", _SPACES).items()
            },
            rates={
                name: float(self._value(top["rates"], name, f"rates.{name}"))
                for name in self._mapping(top.get("rates", {}), "rates", None)
            },
            sources=self.sources,
        )

    def _memory(self, space: str, entry: Any, units: tuple[int, ...]) -> UnitMemory:
        fields = self._mapping(entry, space, _MEMORY)
        numbers = {
            name: self._integers(fields, name, f"{space}.{name}")
            for name in _MEMORY
            if name in fields
        }
        single = {name: values[0] for name, values in numbers.items() if name != "units"}
        if "bank_bytes" in single:
            banked = single.get("partitions", 1) * single.get("banks", 1)
            single["unit_bytes"] = single.pop("bank_bytes") * banked
        if "unit_bytes" not in single:
            self._fail(f"{space} has no unit_bytes and no bank_bytes", space)
        return UnitMemory(space=space, units=numbers.get("units", units), **single)

    def _integers(self, data: Mapping[str, Any], key: str, name: str) -> tuple[int, ...]:
        value = self._value(data, key, name) if key in data else ()
        values = value if isinstance(value, list | tuple) else (value,)
        if any(not isinstance(number, int) or number < 1 for number in values):
            self._fail(f"{name} must be a whole number of 1 or more", value)
        return tuple(values)

    def _pairs(self, data: Mapping[str, Any], key: str, name: str) -> tuple[tuple[int, int], ...]:
        value = self._value(data, key, name) if key in data else ()
        for pair in value:
            if not isinstance(pair, list) or [type(number) for number in pair] != [int, int]:
                self._fail(f"{name} must be pairs [column, row] of whole numbers", value)
        return tuple((pair[0], pair[1]) for pair in value)

    def _value(self, data: Mapping[str, Any], key: str, name: str) -> Any:
        entry = data.get(key)
        if not isinstance(entry, Mapping) or "value" not in entry:
            self._fail(f"{name} must be {{value: ..., source: ...}}", entry)
        source = entry.get("source") or entry.get("assumed")
        if not source:
            self._fail(f"{name} has no source", entry["value"])
        self.sources[name] = str(source) if "source" in entry else f"assumed: {source}"
        return entry["value"]

    def _mapping(self, data: Any, name: str, known: tuple[str, ...] | None) -> Mapping[str, Any]:
        if not isinstance(data, Mapping):
            self._fail(f"{name} must be a mapping", data)
        unknown = [key for key in data if known is not None and key not in known]
        if unknown:
            self._fail(f"{name} has an unknown field {unknown[0]!r}", unknown[0])
        result: Mapping[str, Any] = data
        return result

    def _fail(self, what: str, value: object) -> NoReturn:
        raise SpecError(f"{what} ({self.file})", value=value)
