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
TRIED = {
    1: "An included file and a cost table edited, then deleted, between `study run` and `study "
    "resume`: the same bytes, each edit named; a copy in `inputs/` edited: exit code 2.",
    2: "Four baselines with `batch: 2` and nsga2, nsga3, tpe, random, qmc, grid, bottleneck "
    "and `optuna.samplers.QMCSampler`: 8 of 8 ran.",
    3: "The package mounted read-only (`mount -o remount,ro,bind`), `HOME` in /proc, a run in "
    'a read-only folder: a simulated study failed in every design ("cannot cache '
    'function"), mended; resume and report end with exit code 2, query and rerun work.',
    4: "`ulimit -v` of 150 to 900 MB in 13 steps, 1 and 2 workers: below 330 MB every design "
    "was an internal error (a library that cannot be loaded), mended: exit code 4, nothing "
    "recorded. Below 200 MB OpenBLAS may end the process with a text of its own (exit code "
    "1).",
    5: "`map --budget 5` on a rank of 999999999999999989, 12 rank variables, 20 inputs, a "
    "chain of 1,000 Einsums, 100 variables (edge_npu, gpu_like): all in time, or refused, "
    "but for the chain: 24 s of a processor and 1.8 GB. Mended: its first mapping is waited for "
    "([limits.md](limits.md) measures it and 24 other kinds of searches).",
    6: "`trials.jsonl`, then the whole directory, removed by an evaluator during a run: written "
    "anew; an error.",
    7: "14 figures (inf, NaN, 1e400, negative) in an architecture, 6 objectives, 10 values of "
    "options, 19 of knobs, 11 limits and 8 objectives of studies: exit code 2 with the "
    "place, or the right answer, and every JSON strict. A limit or objective without any "
    "metric, and `energy**1e9`, were accepted; mended.",
    8: "`include` and `include_text` of 13 paths (up to four folders above, hidden, absolute, "
    "/proc, a link, `~`): none read.",
    9: "23 names for Einsums, components, dimensions, tensors, studies, knobs and baselines, "
    "in a study each: no internal error, no control character printed. A tensor called "
    "`Inputs` is refused (docs/files.md).",
    10: "SIGHUP and SIGTERM: exit code 130 after the batch, resumed to the same bytes; `kill "
    "-9`: no process left 2.5 s later, resumed to the same bytes.",
    11: "700 random damages to a file of a run (also with a right checksum) under 14 commands: "
    "a trial of another study was an internal error of seven commands, mended. Links in the "
    "place of 12 files and folders under 6 commands: 72 of 72 refused, nothing written "
    "behind them. Three `study run` and three `study resume` at once: one runs, two say why "
    "not.",
    12: "Evaluators that exit, raise GeneratorExit or an error whose text exits, recurse "
    "without end, change the folder, close standard output, `os._exit`, `kill -9` "
    "themselves: each costs its own designs (an error whose text exits ended the study; "
    "mended).",
    13: "The files of point 7, `projection: -1*t`, fanout 1e308, `energy**1e308`: exit code 2.",
    14: "`| head -0`, `> /dev/full`, `2>&-`, `>&-`; a file system of 4 to 400 kB: exit code 4, "
    "resumed to the same bytes. A hostile value in a field: of 3,084 runs on architectures, "
    "workloads, mappings, studies and cost tables 0 ended in an internal error or without JSON; "
    "on machine profiles 33 did, all for `names` of operations, mended.",
}
HEAD = """# Reliability: fourteen points of a trial from outside

A trial of an earlier state, made from outside, broke runs at fourteen points. Each point stands
here with what was done to break it again by command (2026-11-28, x86_64, Linux, two processors),
then with what happens now and the test that holds it. `tools/reliability_page.py` writes this page
from the tests in `tests/faults/reliability/`.

The bytes of `trials.jsonl` were the same for 1, 2 and 8 workers, three `PYTHONHASHSEED`, Dask with
two workers, and a run directory that was moved, whose study and inputs were elsewhere, with half of
its lines cut off. It also reported, ran again (`study rerun`), was extended (`--trials`, `--add`).

"""
TABLE = """
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
    tried = [f"| {number}. {POINTS[number]} | {text} |\n" for number, text in TRIED.items()]
    return HEAD + "| point | tried |\n|---|---|\n" + "".join(tried) + TABLE + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
