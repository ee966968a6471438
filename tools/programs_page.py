"""Write the tables of docs/programs.md: operations, the builder's methods, the values' fields.

Run `python tools/programs_page.py` to write them anew; a test compares them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Final

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Element, Fabin, Fabout, Fifo, Ref, Register
from tilewright.simulator.isa.operations import OPERATIONS
from tilewright.simulator.isa.scalars import FLOAT_ONLY, INTEGER_ONLY, SCALARS
from tilewright.simulator.program.instruction import DsdOperation, LoadRegister
from tilewright.simulator.program.routes import (
    Area,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    Position,
    RangeFilter,
    Route,
    Switch,
)
from tilewright.simulator.run.machine import Machine

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "programs.md"
BUILDERS: Final = (("b", ProgramBuilder), ("code", CodeBuilder), ("task", TaskBuilder))
VALUES: Final[tuple[type[Any], ...]] = (
    Fabin,
    Fabout,
    Fifo,
    Ref,
    Element,
    Register,
    LoadRegister,
    DsdOperation,
    Area,
    Route,
    Switch,
    Position,
    CounterFilter,
    RangeFilter,
    EdgeInput,
    EdgeOutput,
)
INTERNAL: Final = ("add", "body")
"""Methods of `TaskBuilder` that its others use."""


def rows(head: Iterable[str], body: Iterable[Iterable[str]]) -> str:
    """Return a table."""
    names = tuple(head)
    lines = [names, tuple("---" for _ in names), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def operations() -> str:
    """Return a row per set of forms and types."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for operation in OPERATIONS.values():
        mixed = operation.mixed or (operation.dtypes,)
        types = ", ".join(" or ".join(dtypes) for dtypes in mixed)
        key = types, " ".join(operation.forms), operation.counts_as
        groups.setdefault(key, []).append(operation.name)
    body = [(f"`{'` `'.join(names)}`", *key) for key, names in groups.items()]
    return rows(("operations", "element types (destination first)", "forms", "counts as"), body)


def scalars() -> str:
    """Return a row per scalar operation."""
    kinds = {
        name: "floats" if name in FLOAT_ONLY else "integers" if name in INTEGER_ONLY else "all"
        for name in SCALARS
    }
    groups: dict[tuple[str, str], list[str]] = {}
    for name, (_, sources) in SCALARS.items():
        groups.setdefault((str(sources), kinds[name]), []).append(name)
    body = [(f"`{'` `'.join(names)}`", *key) for key, names in groups.items()]
    return rows(("operations", "sources", "dtypes"), body)


def call(function: Callable[..., Any]) -> str:
    """Return a function's arguments as one writes them."""
    found = []
    keywords = False
    for name, one in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not keywords:
            found.append("*")
        keywords = keywords or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        mark = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        found.append(mark + name + ("" if one.default is one.empty else f"={one.default!r}"))
    return ", ".join(found)


def told(thing: object) -> str:
    """Return a docstring as one paragraph of a table."""
    return re.sub(r"\s+", " ", inspect.getdoc(thing) or "").replace("|", "\\|")


def builder() -> str:
    """Return a row per public method of the three builders."""
    body = []
    for short, kind in BUILDERS:
        for name, method in vars(kind).items():
            public = inspect.isfunction(method) and not name.startswith("_")
            if public and not (kind is TaskBuilder and name in INTERNAL):
                body.append((f"`{short}.{name}({call(method)})`", told(method)))
    return rows(("method", "what it does"), body)


def default(field: Field[Any]) -> str:
    """Return a field as an argument of its value."""
    if field.default is not MISSING:
        shown = "0" if repr(field.default).startswith("Index(") else repr(field.default)
        return f"{field.name}={shown}"
    return field.name


def values() -> str:
    """Return a row per value with its fields."""
    body = []
    for kind in VALUES:
        given = ", ".join(map(default, fields(kind)))
        body.append((f"`{kind.__name__}({given})`", told(kind)))
    methods = [m for m in vars(Ref).items() if inspect.isfunction(m[1]) and m[0][0] != "_"]
    body += [(f"`Ref(...).{name}({call(method)})`", told(method)) for name, method in methods]
    return rows(("value", "what it says"), body)


def run() -> str:
    """Return what `Machine` and its `run` take."""
    body = [
        (f"`Machine({call(Machine.__init__)})`", told(Machine)),
        (f"`machine.run({call(Machine.run)})`", told(Machine.run)),
    ]
    return rows(("call", "what it does"), body)


SECTIONS: Final = {
    "builder": builder,
    "values": values,
    "operations": operations,
    "scalars": scalars,
    "run": run,
}


def filled(text: str) -> str:
    """Return a page with its tables written anew."""
    for name, table in SECTIONS.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text, count = re.subn(pattern, lambda m, t=table: m[1] + t() + m[2], text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"docs/programs.md has no one place for {name}")
    return text


def main() -> None:
    """Write the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
