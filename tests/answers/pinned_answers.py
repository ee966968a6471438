"""The files of requests and answers, and what differs between two answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

Data = dict[str, Any]
HERE = Path(__file__).resolve().parent
REQUESTS, ANSWERS = HERE / "requests", HERE / "stored"
EIGHTH = 8
TIE_FIELDS = {"mapping", "front_mappings"}
"""What may differ when another mapping of the same value is returned."""


@dataclass(frozen=True)
class Pinned:
    """A request with its family, and its number there, which never changes."""

    family: str
    number: int
    request: Data

    @property
    def name(self) -> str:
        return f"{self.family}-{self.number:03d}-{self.request['about'].replace(' ', '_')}"

    @property
    def in_eighth(self) -> bool:
        """Tell whether every test run compares the request: the quickest of eight in a row."""
        first = self.number - self.number % EIGHTH
        every = seconds_of_requests()
        costs = {n: every.get((self.family, n), inf) for n in range(first, first + EIGHTH)}
        return self.number == min(costs, key=lambda number: (costs[number], number))


@cache
def seconds_of_requests() -> dict[tuple[str, int], float]:
    """Return the processor seconds of each request, by family and number, when it was drawn."""
    lines = (HERE / "seconds.txt").read_text(encoding="utf-8").split("\n")
    rows = (line.rpartition(" ") for line in lines if line)
    names = ((name.rpartition("-"), seconds) for name, _, seconds in rows)
    return {(family, int(number)): float(seconds) for (family, _, number), seconds in names}


def families() -> list[str]:
    return sorted(path.stem for path in REQUESTS.glob("*.json"))


def all_requests(chosen: Sequence[str] = ()) -> list[Pinned]:
    """Return the requests of some families (none: all) in a fixed order."""
    return [
        Pinned(family, record["number"], record)
        for family in chosen or families()
        for record in read(REQUESTS / f"{family}.json")
    ]


def stored_answers(family: str) -> dict[int, Data]:
    """Return the stored answers of a family by the request's number."""
    path = ANSWERS / f"{family}.json"
    records = read(path) if path.exists() else []
    return {record["number"]: record for record in records}


def read(path: Path) -> list[Data]:
    records: list[Data] = json.loads(path.read_text(encoding="utf-8"))
    return records


def write(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write records as a JSON list with one field per line, so that git shows what changed."""
    blocks = []
    for record in records:
        fields = [f"{as_json(key)}: {as_json(value)}" for key, value in record.items()]
        blocks.append("{" + ",\n ".join(fields) + "}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[\n" + ",\n\n".join(blocks) + "\n]\n", encoding="utf-8")


def as_json(value: Any) -> str:
    """Write a value as JSON; floats as repr, so that they are read back exactly."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def write_answers(family: str, answers: Mapping[int, Data]) -> None:
    records = [
        {"number": number, **{k: v for k, v in answer.items() if k != "number"}}
        for number, answer in sorted(answers.items())
    ]
    write(ANSWERS / f"{family}.json", records)


def difference(pinned: Pinned, stored: Data | None, answer: Data) -> str:
    """Return what differs between the stored answer and the one of now, for a person; "": nothing.

    The order of keys in a field counts: the product writes its documents in that order.
    """
    if stored is None:
        return f"{pinned.name}: no answer is stored; write it with: make answers-update"
    before = {key: value for key, value in stored.items() if key != "number"}
    changed = [
        key
        for key in {**before, **answer}
        if as_json(before.get(key, "(none)")) != as_json(answer.get(key, "(none)"))
    ]
    if not changed:
        return ""
    head = f"{pinned.name} ({pinned.request['ask']}): {', '.join(changed)} differ"
    if set(changed) <= TIE_FIELDS:
        head += " (a tie: the values are the same)"
    if changed == ["scope"]:
        head += " (the words of the certificate only)"
    lines = [head]
    for key in changed:
        old, new = (as_lines(one.get(key, "(none)")) for one in (before, answer))
        lines += [f"  {key}:"]
        lines += [f"    {line}" for line in list(unified_diff(old, new, lineterm="", n=2))[2:]]
    return "\n".join(lines)


def as_lines(value: Any) -> list[str]:
    """Return a value as lines that a person can compare."""
    if isinstance(value, str):
        return value.splitlines() or [""]
    if isinstance(value, list):
        return [line for item in value for line in as_lines(item)]
    if isinstance(value, dict) and value:
        return [
            line if number else f"{key}: {line}"
            for key, item in value.items()
            for number, line in enumerate(as_lines(item))
        ]
    return [as_json(value)]
