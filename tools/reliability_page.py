"""Write docs/validation/reliability.md: what happens now where a trial from outside broke a run.

Run `python tools/reliability_page.py` to write the page anew; a test compares them. A row is a test
of tests/faults/reliability/, whose name has the numbers of its points and whose docstring says what
happens now.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "validation" / "reliability.md"
TESTS = ROOT / "tests" / "faults" / "reliability"
POINTS = {
    1: "Included files, cost tables and a machine profile are inputs of a run",
    2: "More baselines than a batch",
    3: "A read-only package folder and no home",
    4: "Failures of the environment",
    5: "Limits hold",
    6: "`trials.jsonl` deleted during a run",
    7: "Figures that are not finite",
    8: "Templates and private files",
    9: "Names",
    10: "Processes and signals",
    11: "Damaged records, foreign run directories, symbolic links",
    12: "Evaluators of the user, and odd surroundings",
    13: "What was accepted in silence",
    14: "Exit codes, closed pipes, early Ctrl-C",
}
HEAD = """# Reliability: fourteen points of a trial from outside

A trial of an earlier state, made from outside, broke runs at fourteen points. Each point stands
here with what happens now and the test that holds it. `tools/reliability_page.py` writes this page
from the tests in `tests/faults/reliability/`.

| point | what happens now | test |
|---|---|---|
"""
_NUMBERS = re.compile(r"test_(\d\d(?:_and_\d\d)*)_")


def rows() -> list[tuple[int, str, str]]:
    """Return (point, what happens now, test) of each test with a docstring, by point."""
    found = []
    for path in sorted(TESTS.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match = _NUMBERS.match(getattr(node, "name", ""))
            text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if match is None or text is None:
                continue
            place = f"`{path.name}::{node.name}`"
            words = " ".join(text.split())
            found += [(int(number), words, place) for number in match[1].split("_and_")]
    return sorted(found)


def page() -> str:
    """Return the text of the page."""
    lines = [
        f"| {number}. {POINTS[number]} | {text.replace('|', chr(92) + '|')} | {place} |\n"
        for number, text, place in rows()
    ]
    return HEAD + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
