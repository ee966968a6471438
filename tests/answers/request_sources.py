"""Requests out of the random generators: the texts of what they make, and what is asked of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pinned_answers import Data

INFEASIBLE_SHARE = 0.2
OBJECTIVES = ("energy", "latency", "edp")


@dataclass(frozen=True)
class Source:
    """Where requests come from: `draw` makes one of a seed (None: no case), `amount` are wanted.

    `infeasible`: the share of them that may be refused; `refused`: only such are wanted.
    """

    about: str
    amount: int
    draw: Callable[[int], Data | None]
    first: int = 0
    infeasible: float = INFEASIBLE_SHARE
    refused: bool = False


class Recorder:
    """Loads architectures and workloads for the generators, and remembers their texts."""

    def __init__(self) -> None:
        from tilewright.arch.spec.load import load_arch
        from tilewright.mapper.workload.workload_loading import load_workload

        self._loaders = {"load_arch": load_arch, "load_workload": load_workload}
        self._texts: dict[int, tuple[Any, str]] = {}
        self.last: dict[str, str] = {}

    def listen_to(self, module: Any) -> None:
        for name in self._loaders:
            if hasattr(module, name):
                setattr(module, name, self._loading(name))

    def _loading(self, name: str) -> Callable[[str], Any]:
        def load(text: str) -> Any:
            made = self._loaders[name](text)
            self._texts[id(made)] = (made, text)
            self.last[name] = text
            return made

        return load

    def text(self, made: Any) -> str:
        return self._texts[id(made)][1]


RECORDER: Recorder | None = None
MODULES = (
    "search_cases tight_cases bound_cases network_cases array_cases copied_cases uneven_cases"
    " fused_cases used_cases backed_cases deep_cases fused_tolls"
)


def generator(where: str) -> Callable[..., Any]:
    """Return the generator "module:function", whose texts are recorded."""
    global RECORDER  # noqa: PLW0603 - one per process
    if RECORDER is None:
        RECORDER = Recorder()
        for name in MODULES.split():
            RECORDER.listen_to(import_module(name))
    module, name = where.split(":")
    return getattr(import_module(module), name)


def text_of(made: Any) -> str:
    assert RECORDER is not None
    return RECORDER.text(made)


def of_space(where: str, **options: Any) -> Callable[[int], Data]:
    """Ask for the best mapping of a random mapspace of one Einsum, objectives in turn."""

    def draw(seed: int) -> Data:
        space = generator(where)(seed)
        assert RECORDER is not None
        chosen = {"objective": OBJECTIVES[seed % 3], **options}
        if space.conventions != "default":
            chosen["conventions"] = space.conventions
        if space.uneven:
            chosen["uneven"] = sorted(space.uneven)
        chosen.update(varied(chosen, seed))
        texts = RECORDER.last
        return search_request(texts["load_arch"], texts["load_workload"], chosen)

    return draw


def of_case(where: str, **options: Any) -> Callable[[int], Data]:
    """Ask for the best mapping of a random workload of several Einsums, objectives in turn."""

    def draw(seed: int) -> Data:
        arch, workload, conventions = generator(where)(seed)
        chosen = {"objective": OBJECTIVES[seed % 3], **options}
        if conventions != "default" and not chosen.get("uneven"):
            chosen["conventions"] = conventions
        chosen.update(varied(chosen, seed))
        return search_request(text_of(arch), text_of(workload), chosen)

    return draw


def varied(options: Data, seed: int) -> Data:
    """Return the options whose values are lists to choose from in turn."""
    return {
        name: value[seed // 3 % len(value)]
        for name, value in options.items()
        if name in ("objective", "front", "einsum") and isinstance(value, tuple)
    }


def search_request(arch: str, workload: str, options: Data) -> Data:
    return {"ask": "search", "options": options, "arch": arch, "workload": workload}


def opposed(where: str) -> Callable[[int], Data]:
    """Ask the same where the buffer is fast but dear, and DRAM cheap but slow."""

    def draw(seed: int) -> Data:
        rng = random.Random(seed)
        values: Data = {}
        for name, energies, rates in (("DRAM", (1, 2), (0.2, 0.5)), ("BUF", (3, 7), (1, 2))):
            for action in ("read", "write"):
                values[f"{name}.actions.{action}.energy"] = rng.choice(energies)
                values[f"{name}.actions.{action}.throughput"] = rng.choice(rates)
        return {**of_case(where)(seed), "values": values}

    return draw


def squeezed(draw: Callable[[int], Data]) -> Callable[[int], Data]:
    """Ask the same with memories on chip that are much too small for what they must keep."""

    def smaller(seed: int) -> Data:
        request = draw(seed)
        arch = request["arch"].replace('keep: "~DRAM", may_keep: All', "keep: All")
        lines = arch.splitlines(keepends=True)
        for number, line in enumerate(lines):
            key, _, size = line.strip().partition(": ")
            if key == "size" and size.isdigit():
                lines[number] = line.replace(size, str(max(1, int(size) // 8)))
        return {**request, "arch": "".join(lines)}

    return smaller


def on_chip(draw: Callable[[int], Data]) -> Callable[[int], Data]:
    """Ask the same with no room outside for what Einsums exchange, and little on chip."""

    def kept(seed: int) -> Data:
        request = squeezed(draw)(seed)
        arch = request["arch"].replace('keep: "~Intermediates", may_keep: All', "OUTSIDE")
        arch = arch.replace("keep: All", 'keep: "~DRAM", may_keep: All')
        return {**request, "arch": arch.replace("OUTSIDE", 'keep: "~Intermediates"')}

    return kept


def spaces(amounts: dict[str, int], **options: Any) -> list[Source]:
    return [
        Source(name.split(":")[1].removesuffix("_space_of"), n, of_space(name, **options))
        for name, n in amounts.items()
    ]


def cases(amounts: dict[str, int], **options: Any) -> list[Source]:
    return [
        Source(
            name.split(":")[1].removeprefix("random_").removesuffix("_case"),
            n,
            of_case(name, **options),
        )
        for name, n in amounts.items()
    ]
