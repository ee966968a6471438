"""Tables of component costs, read from YAML, JSON or CSV."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from tilewright.arch.components.cost_query import ActionEstimate, CostEstimate, CostQuery
from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import untag
from tilewright.arch.files.reading import read_text
from tilewright.arch.files.source import load_document
from tilewright.arch.names import did_you_mean


@dataclass(frozen=True, slots=True)
class CostTable:
    """A table of fixed costs by component name or class, e.g. from a data sheet or an earlier run.

    `source`: the file; `rows`: area, leakage and costs of actions by name. It is an estimator.
    """

    source: str
    rows: Mapping[str, CostEstimate]

    def estimate(self, query: CostQuery) -> CostEstimate | None:
        """Return the row of the component's name, else of its class, else None."""
        if query.name in self.rows:
            return self.rows[query.name]
        return self.rows.get(query.component_class or "")


def load_cost_table(
    path: Path | str, section: str | None = None, where: Where | None = None
) -> CostTable:
    """Read a table of component costs (m², W, J, actions per second) from YAML, JSON or CSV.

    YAML and JSON: `{name: {area, leak_power, actions: {action: {energy, throughput}}}}`, below
    `section` if given. CSV: columns component, action (empty for the component's own row), area,
    leak_power, energy, throughput. SpecError for a bad file or an unknown section, at `where` if
    another file asked for the table.
    """
    file = Path(path)
    if file.suffix == ".csv":
        return CostTable(str(file), _rows_of_csv(read_text(file, where), str(file)))
    if file.suffix == ".json":
        data = _json(read_text(file, where), str(file))
    else:
        data = untag(load_document(file, text=read_text(file, where)).data)
    if section is not None:
        if not isinstance(data, dict) or section not in data:
            raise SpecError(
                f"the cost table has no section {section}",
                where=where or Where(str(file)),
                instead=did_you_mean(section, data if isinstance(data, dict) else ()) or None,
            )
        data = data[section]
    return CostTable(str(file), _rows(data, str(file)))


def _rows(data: object, source: str) -> dict[str, CostEstimate]:
    if not isinstance(data, dict):
        raise SpecError("a cost table is a mapping of components", where=Where(source), value=data)
    return {str(name): _row(name, entry, source) for name, entry in data.items()}


def _row(name: object, entry: object, source: str) -> CostEstimate:
    if not isinstance(entry, dict):
        raise SpecError(f"the costs of {name} must be a mapping", where=Where(source), value=entry)
    actions = entry.get("actions") or {}
    if not isinstance(actions, dict):
        raise SpecError(f"actions of {name} must be a mapping", where=Where(source), value=actions)
    return CostEstimate(
        _cost(entry.get("area"), f"{name}.area", source),
        _cost(entry.get("leak_power"), f"{name}.leak_power", source),
        {
            str(action): ActionEstimate(
                _cost(costs.get("energy"), f"{name}.{action}.energy", source),
                _cost(costs.get("throughput"), f"{name}.{action}.throughput", source),
            )
            for action, costs in actions.items()
            if isinstance(costs, dict)
        },
    )


def _cost(value: object, path: str, source: str) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)  # type: ignore[arg-type]  # any other type raises here
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number) or number < 0:
        raise SpecError(
            "a cost must be a number of at least 0", where=Where(source, path=path), value=value
        )
    return number


def _rows_of_csv(text: str, source: str) -> dict[str, CostEstimate]:
    reader = csv.DictReader(StringIO(text))
    columns = {"component", "action", "area", "leak_power", "energy", "throughput"}
    missing = sorted({"component", "action"} - set(reader.fieldnames or ()))
    unknown = sorted(set(reader.fieldnames or ()) - columns)
    if missing or unknown:
        raise SpecError(
            f"the columns of the cost table are wrong: {', '.join(missing + unknown)}",
            where=Where(source, 1),
            instead=", ".join(sorted(columns)),
        )
    rows: dict[str, dict[str, Any]] = {}
    for line in reader:
        entry = rows.setdefault(line["component"], {"actions": {}})
        if line["action"]:
            entry["actions"][line["action"]] = line
        else:
            entry.update({key: line.get(key) for key in ("area", "leak_power")})
    return _rows(rows, source)


def _json(text: str, source: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(
            f"this is not JSON: {error}", where=Where(source, getattr(error, "lineno", None))
        ) from None
