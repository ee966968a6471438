"""Answers of slow oracles, stored under a digest of case and sources.

`stored(oracle, *case)` gives the oracle's answer: from tests/oracles/stored/ if the case and every
source that the oracle imports are those of the stored answer, else computed. A search under test is
among the sources of no oracle (test_memo.py), so what it changes is compared with stored answers.

    pytest                        computes what is not stored, and says how much that was
    pytest --update-oracles       stores it; `make oracles` also drops what no test asks for
    pytest --recompute-oracles    computes all again; a stored answer that differs is an error
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any

from figures import Figures
from pydantic import BaseModel
from sources import digest

STORE = Path(__file__).resolve().parent / "stored"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
Answers = dict[str, Any]  # key of a case -> answer, as JSON holds it


def stored(oracle: Callable[..., Any], *case: Any) -> Any:
    """Return `oracle(*case)` as JSON gives it back: tuples as lists."""
    return memo.answer(oracle, case)


def stored_figures(
    oracle: Callable[..., Any], *case: Any, memories: tuple[str, ...] = ()
) -> list[Figures] | None:
    """Return the figures of an oracle that answers with rows, or with None: too many mappings.

    A row holds energy, latency and the bits of each of the `memories`.
    """
    rows = stored(oracle, *case)
    if rows is None:
        return None
    return [Figures(row[0], row[1], dict(zip(memories, row[2:], strict=True))) for row in rows]


@dataclass
class Memo:
    """The answers of one process. `used`: those that its tests asked for, by oracle; `stored`
    and `computed` count them."""

    recompute: bool = False
    store: Path = STORE
    used: dict[str, Answers] = field(default_factory=lambda: defaultdict(dict))
    stored: int = 0
    computed: int = 0
    _known: dict[str, Answers] = field(default_factory=dict)

    def answer(self, oracle: Callable[..., Any], case: tuple[Any, ...]) -> Any:
        """Return the stored answer, or compute it."""
        name, key = oracle.__name__, key_of(oracle, case)
        known = self.known(name)
        if key in known and not self.recompute:
            answer = known[key]
            self.stored += 1
        else:
            self.computed += 1
            answer = json.loads(json.dumps(oracle(*case)))
            if key in known:
                assert answer == known[key], f"{name}: the stored answer {key} is {known[key]}"
        self.used[name][key] = answer
        return answer

    def known(self, name: str) -> Answers:
        """Return the stored answers of an oracle."""
        if name not in self._known:
            self._known[name] = read(self.store / f"{name}.json")
        return self._known[name]


memo = Memo()


def read(path: Path) -> Answers:
    """Return the answers of a file, none if there is no such file."""
    answers: Answers = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return answers


def write(path: Path, answers: Answers) -> None:
    """Write answers, one a line, in the order of their keys; no file for none."""
    if not answers:
        path.unlink(missing_ok=True)
        return
    lines = (f"{json.dumps(key)}: {json.dumps(answers[key])}" for key in sorted(answers))
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def update(used: Mapping[str, Answers], prune: bool, store: Path = STORE) -> None:
    """Store answers; `prune` drops all others."""
    if prune:
        for path in store.glob("*.json"):
            if path.stem not in used:
                path.unlink()
    for name, answers in used.items():
        path = store / f"{name}.json"
        write(path, answers if prune else read(path) | answers)


def key_of(oracle: Callable[..., Any], case: tuple[Any, ...]) -> str:
    """Return the digest of an oracle's sources and of a case."""
    return sha256(text_of((oracle, *case)).encode()).hexdigest()[:16]


def text_of(value: Any) -> str:
    """Return a text that two values share only if they are equal; TypeError for unknown types.

    A function is its name, the digest of its sources and the version of Python: it may draw at
    random, and another Python may draw otherwise.
    """
    if value is None or isinstance(value, bool | int | float | str | Fraction | Enum):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, frozenset | set):
        return f"{{{', '.join(sorted(map(text_of, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{text_of(k)}: {text_of(v)}' for k, v in value.items())}}}"
    if isinstance(value, FunctionType) and value.__closure__ is None:
        return f"{value.__qualname__} of {digest(_file_of(value.__module__))}, Python {VERSION}"
    if is_dataclass(value):
        parts = [getattr(value, item.name) for item in fields(value) if item.compare]
    elif isinstance(value, BaseModel):
        parts = [getattr(value, name) for name in type(value).model_fields]
    else:
        raise TypeError(f"a case cannot hold {value!r}")
    return f"{type(value).__name__}({', '.join(map(text_of, parts))})"


def _file_of(module: str) -> Path:
    file = sys.modules[module].__file__
    assert file is not None
    return Path(file).resolve()
