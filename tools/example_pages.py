"""Write docs/examples/: a page for every program of tests/programs, with what it takes and how.

Run `python tools/example_pages.py` to write the pages anew; a test compares them. The figures
come from running the tests themselves: what each hands to `Machine.run` is recorded.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.text.printing import print_program

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "programs"
PAGES = ROOT / "docs" / "examples"
PROFILES = ("wse2-sdk-sim", "wse3-sdk-sim", "generic")
LONGEST = 90  # lines of a program's text form that a page shows


@dataclass(frozen=True)
class Run:
    """What a test ran last on a profile."""

    profile: str
    program: Program
    result: RunResult


def pages() -> dict[str, str]:
    """Return the text of every page by file name, the index included."""
    texts: dict[str, str] = {}
    about = "Every page is a test of `tests/programs/`, with its source and its figures."
    index = ["# Example programs", "", about, ""]
    for module in modules():
        lines = inspect.getdoc(module)
        assert lines is not None
        index += [f"## {lines.splitlines()[0].rstrip('.')}", ""]
        for name, test in tests(module):
            slug = name.removeprefix("test_")
            texts[f"{slug}.md"] = page(module, name, test)
            index.append(f"- [{title(name)}]({slug}.md)")
        index.append("")
    texts["README.md"] = "\n".join(index).rstrip() + "\n"
    return texts


def modules() -> Iterator[ModuleType]:
    """Import the test modules of the programs, by name."""
    for path in sorted(PROGRAMS.glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"programs.{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        yield module


def tests(module: ModuleType) -> list[tuple[str, Callable[..., None]]]:
    """Return the tests of a module in the order of the file that run a program."""
    found = [(name, value) for name, value in vars(module).items() if name.startswith("test_")]
    return [(name, test) for name, test in found if "not_on" not in name]


def title(name: str) -> str:
    """Return `gemv-06: two elements …` for test_gemv_06_two_elements_…"""
    name = name.removeprefix("test_")
    numbered = re.fullmatch(r"([a-z]+)_(\d\d(?:_to_\d\d)?)_(.*)", name)
    if numbered is None:
        return name.replace("_", " ")
    series, number, rest = (part.replace("_", " ") for part in numbered.groups())
    return f"{series}-{number}: {rest}"


def page(module: ModuleType, name: str, test: Callable[..., None]) -> str:
    """Return one page: what it shows, its figures, its text form, its source."""
    runs = [run for profile in PROFILES for run in recorded(test, profile)]
    lines = [f"# {title(name)}", ""]
    about = inspect.getdoc(test)
    if about:
        lines += [about, ""]
    lines += ["| profile | elements | cycles | multiply-accumulates | additions | router hops |"]
    lines += ["|---|---|---|---|---|---|"]
    for run in runs:
        counts, program = run.result.counts, run.program
        shape = f"{program.height} x {program.width}"
        figures = (run.result.cycles, counts.macs, counts.adds, counts.wavelet_hops)
        lines.append(f"| {run.profile} | {shape} | {' | '.join(map(str, figures))} |")
    text = print_program(runs[0].program)
    if text.count("\n") <= LONGEST:
        lines += ["", "## The program", "", "```", text.rstrip(), "```"]
    path = Path(str(module.__file__)).relative_to(ROOT)
    lines += ["", f"## The source ({path})", "", "```python", source(module, test), "```"]
    return "\n".join(lines) + "\n"


def recorded(test: Callable[..., None], profile: str) -> list[Run]:
    """Run a test on a profile and return its last run, none where the profile has no such thing."""
    runs: list[Run] = []
    plain = Machine.run

    def run(machine: Machine, *given: Any, **options: Any) -> RunResult:
        result = plain(machine, *given, **options)
        runs.append(Run(machine.profile.name, machine.program, result))
        return result

    with patch.object(Machine, "run", run):
        try:
            test(**arguments(test, profile))
        except ProgramError:
            return []
    return [one for one in runs[-1:] if one.profile == profile]


def arguments(test: Callable[..., None], profile: str) -> dict[str, Any]:
    """Return the profile and the last value of every other parameter of a test."""
    given: dict[str, Any] = {}
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names, last = mark.args[0], mark.args[1][-1]
            given |= (
                {names: last} if isinstance(names, str) else dict(zip(names, last, strict=True))
            )
    return {**given, "profile": profile} if "profile" in given else given


def source(module: ModuleType, test: Callable[..., None]) -> str:
    """Return the source of a test with the helpers and constants of its module that it uses."""
    tree = ast.parse(inspect.getsource(module))
    made: dict[str, ast.stmt] = {}
    for node in tree.body:
        for name in _defined(node):
            made[name] = node
    wanted, open_names = set(), [test.__name__]
    while open_names:
        node = made[open_names.pop()]
        if node in wanted:
            continue
        wanted.add(node)
        used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        open_names += [name for name in used if name in made and name != "PROFILES"]
    lines = inspect.getsource(module).splitlines()
    parts = [_text(lines, node) for node in tree.body if node in wanted]
    return "\n\n\n".join(parts)


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [n.id for target in node.targets for n in ast.walk(target)
                if isinstance(n, ast.Name)]  # fmt: skip
    return []


def _text(lines: list[str], node: ast.stmt) -> str:
    assert node.end_lineno is not None
    return "\n".join(lines[node.lineno - 1 : node.end_lineno])


def main() -> None:
    PAGES.mkdir(exist_ok=True)
    texts = pages()
    for path in PAGES.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (PAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
