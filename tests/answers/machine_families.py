"""The families of requests that run programs on the machine."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from pinned_answers import Data
from recorded_runs import recorded
from request_sources import Source


def of_program(where: str, fair: bool, **machine: Any) -> Callable[[int], Data | None]:
    """Ask for a run of a random program on a changed profile."""

    def draw(seed: int) -> Data | None:
        from engines import fair_changes
        from machine_programs import random_changes
        from product_answers import packed_array

        from tilewright.simulator.text.printing import print_program

        module, name = where.split(":")
        case = getattr(import_module(module), name)(seed)
        try:
            text = print_program(case.program)
        except Exception:  # a broken program may have no text
            return None
        request = {
            "ask": "run",
            "profile": "generic",
            "changes": fair_changes(seed) if fair else random_changes(seed),
            "program": text,
            "memory": {name: packed_array(v) for name, v in case.memory.items()},
            "edges": {name: packed_array(v) for name, v in case.edges.items()},
        }
        return {**request, "machine": machine} if machine else request

    return draw


def broken(seed: int) -> Data | None:
    """Ask for a run of a random program with a line of its text left out or a number changed."""
    makers = ("machine_programs:random_case", "special_programs:special_case",
              "changing_programs:changing_case", "engines:pipeline")  # fmt: skip
    request = of_program(makers[seed % 4], True)(seed)
    if request is None:
        return None
    rng = random.Random(seed)
    lines = request["program"].splitlines(keepends=True)
    at = rng.randrange(1, len(lines))
    numbers = [word for word in lines[at].split() if word.isdigit()]
    if numbers and rng.random() < 0.7:
        word = rng.choice(numbers)
        lines[at] = lines[at].replace(word, str(int(word) + rng.choice((1, 1, 2, 7))), 1)
    else:
        del lines[at]
    return {**request, "program": "".join(lines)}


def machine() -> list[Source]:
    known, special = "machine_programs:random_case", "special_programs:special_case"
    changing = "changing_programs:changing_case"
    return [
        Source("chain broadcast contention", 9, of_program(known, True)),
        Source("any profile", 6, of_program(known, False), 20),
        Source("pipeline", 8, of_program("engines:pipeline", True)),
        Source("duplex", 6, of_program("engines:duplex", True)),
        Source("meeting", 6, of_program("engines:meeting", True)),
        Source("special", 10, of_program(special, True)),
        Source("changing", 8, of_program(changing, True)),
        Source("queues", 3, of_program(special, False, queues=True), 30),
        Source("looks", 3, of_program(known, False, interval=50), 30),
        Source("broken", 24, broken, 40, 1),
    ]


def tested() -> list[Source]:
    """Ask for runs that other tests make: every sixth of each file's tests."""
    runs = recorded(Path(tempfile.gettempdir()) / "tilewright-recorded-runs.json")
    by_file: dict[str, list[str]] = {}
    for name in runs:
        by_file.setdefault(name.split("::")[0], []).append(name)

    def taken(names: list[str]) -> Callable[[int], Data | None]:
        return lambda number: runs[names[number]] if number < len(names) else None

    return [
        Source(Path(file).stem.removeprefix("test_"), len(names[::6]), taken(names[::6]), 0, 1)
        for file, names in sorted(by_file.items())
    ]


def grid() -> list[Source]:
    def draw(seed: int) -> Data | None:
        from grid_mappings import FORMS, einsum_workload, random_mapping, workload_text

        from tilewright.mapper.mapping.mapping_file import dump_mapping

        rng = random.Random(f"grid {seed}")
        form = list(FORMS)[seed % len(FORMS)]
        bits = rng.choice((32, 32, 16))
        mapping = random_mapping(rng, einsum_workload(form, bits).einsums[0])
        return {
            "ask": "grid",
            "shipped_arch": "wafer_grid",
            "values": {"variables.GridX": 4, "variables.GridY": 4},
            "workload": workload_text(form, bits),
            "profile": rng.choice(("wse2-sdk-sim", "wse3-sdk-sim", "generic")),
            "mapping": dump_mapping(mapping),
        }

    return [Source("mapping", 50, draw, 0, 0.15)]
