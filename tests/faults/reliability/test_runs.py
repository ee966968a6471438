"""Runs: processes, signals, damaged records, limits, foreign directories, exit codes.

The docstring of each test is a row of docs/validation/reliability.md.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from design_files import log_of, run, run_here

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.dse.models.design_watch import ENDED_BY
from tilewright.dse.models.evaluator import Outcome, attempt
from tilewright.dse.models.worker_pool import make_pool
from tilewright.dse.run.rundir import RunDirectory, RunError
from tilewright.dse.run.runner import RunSettings, resume_study
from tilewright.dse.run.study_loop import EnvironmentFailed
from tilewright.dse.store.extension import Changes
from tilewright.dse.store.trial_line import line_of, trial_of
from tilewright.dse.study.study import DesignLimits
from tilewright.mapper import search
from tilewright.mapper.searches.search_errors import MemoryUsedUp
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.studies import path_of

TOY = Path(__file__).parents[2] / "dse" / "toy_study.py"
SLEEPER = """\
import sys, time
from pathlib import Path
from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.models.worker_pool import make_pool

class Sleeping:
    def evaluate(self, point):
        Path(sys.argv[1], f"{__import__('os').getpid()}").touch()
        time.sleep(60)

with make_pool(Sleeping(), 2) as pool:
    pool.evaluate([{"x": x} for x in range(2)], lambda done, count: None)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_03_no_place_for_machine_code(monkeypatch, tmp_path):
    """Where no folder can be written, compiled kernels are used without being kept on disk; no
    design fails for it."""
    from tilewright.arch.kept_code import CodeFile, ObjectCode

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "below"))
    file = CodeFile("tilewright.mapper.searches.exact.kernels", "none", "void(int64)", ())
    assert file.read() is None
    file.write(ObjectCode("none", b""))


def test_03_no_place_for_kernels_of_the_engine(monkeypatch):
    """The engine's kernels are compiled in each process then."""
    from numba.core import caching

    from tilewright.simulator.engine.jit import kernel

    def add(first, second):
        return first + second

    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    assert kernel(add)(2, 3) == 5


def test_04_lack_of_memory_is_not_recorded_for_good(toy, tmp_path):
    """A design for which memory, time or a worker is missing gets the status `failed` with the
    reason, not an internal error; `study resume DIR --retry` evaluates it again. If all of a batch
    fail, the study ends with exit code 4 and records nothing of them."""

    class Greedy(toy.ToyModel):
        limit = 32

        def evaluate(self, point):
            if point["arch.variables.GridX"] >= self.limit:
                raise MemoryUsedUp("the search needs more memory")
            return super().evaluate(point)

    whole = tmp_path / "whole"
    run_here(toy, whole)
    result = run_here(toy, tmp_path, None, Greedy())
    failed = [trial for trial in result.trials if trial.status == "failed"]
    assert failed
    assert failed[0].reason == "the search needs more memory"
    execution = RunSettings(evaluator=toy.ToyModel())
    resume_study(tmp_path / "run", execution, Changes(retry=True))
    assert log_of(tmp_path) == log_of(whole)

    class Never(toy.ToyModel):
        def evaluate(self, point):
            raise MemoryError

    with pytest.raises(EnvironmentFailed, match="out of memory") as caught:
        run_here(toy, tmp_path / "none", None, Never())
    assert caught.value.exit_code == 4
    assert log_of(tmp_path / "none") == b""

    class Unloadable(toy.ToyModel):
        def evaluate(self, point):
            try:
                raise OSError("libllvmlite.so: failed to map segment from shared object")
            except OSError as error:
                raise OSError("Could not find/load shared object file") from error

    with pytest.raises(EnvironmentFailed, match="out of memory"):
        run_here(toy, tmp_path / "unloadable", None, Unloadable())

    class TooLarge(toy.ToyModel):
        def evaluate(self, point):
            raise MemoryUsedUp(ENDED_BY[87])

    with pytest.raises(EnvironmentFailed) as caught:
        run_here(toy, tmp_path / "large", None, TooLarge())
    assert "--add search.limit_memory=4GB" in str(caught.value.instead)


class Slow:
    """Takes its time where x is 1, without listening where x is 2; needs memory where x is 3."""

    def evaluate(self, point):
        end = time.monotonic() + (30 if point["x"] == 1 else 0)
        while time.monotonic() < end:
            sum(range(100))
        if point["x"] == 2:
            time.sleep(30)
        block = b"x" * (400_000_000 if point["x"] == 3 else 1)
        time.sleep(0.3 if point["x"] == 3 else 0)
        return Outcome({"y": float(len(block[:1]))})


def statuses(points, limits):
    with make_pool(Slow(), 1, limits) as pool:
        answers = pool.evaluate([{"x": x} for x in points], lambda done, count: None)
    return [each.outcome.reason or each.outcome.status for each in answers]


def test_05_limits_of_a_design():
    """`search.limit_s` and `search.limit_memory` end the evaluation of a design, which is recorded
    as failed; the other designs of the batch keep their results."""
    time_over, memory_over = ENDED_BY.values()
    limits = DesignLimits(seconds=2.0, memory=450e6)
    assert statuses((0, 1, 3, 0), limits) == ["feasible", time_over, memory_over, "feasible"]


@pytest.mark.parametrize(
    "options", [{}, {"uneven": "all"}, {"front": ("energy", "latency", "usage")}]
)
def test_05_a_search_that_does_not_look_is_interrupted(options, monkeypatch):
    """A search (`map`, or in Python in any thread) that does not look at its budget or memory in
    time is interrupted a tenth beyond, and returns the best mapping known by then with a bound and
    a note; any search may take 1.1 s and 64 MB. A single operation on large arrays is not
    interrupted, and loading the files is not part of it (docs/validation/limits.md). Ranks of 18
    digits are factored at once. An Einsum of more than 48 rank variables is refused."""

    def search_without_end(*_):
        sum(1 for _ in iter(lambda: False, True))

    monkeypatch.setattr("tilewright.mapper.searches.api.answer", search_without_end)
    work = (
        "workload:\n  rank_sizes: {M: 999999999999999989, N: 24}\n  bits_per_value: {All: 8}\n"
        '  einsums: ["Z[m] = A[m, n]"]\n'
    )
    with ThreadPoolExecutor(1) as pool:
        begin = time.monotonic()
        asked = pool.submit(search, path_of("hardware", "edge_npu"), work, budget=0.5, **options)
        result = asked.result(timeout=60)
    assert time.monotonic() - begin < 20  # on a busy machine
    assert result.best.score.verified
    assert result.certificate.kind == "bounded"
    assert 0 < result.certificate.lower_bound <= result.certificate.value
    assert "interrupted at the end of its budget of seconds" in result.notes[0]
    assert "Z has 16 shapes of tiles, its rank variable n alone 8 sizes" in result.notes[0]


def test_05_too_many_rank_variables_are_refused():
    """An Einsum of more than 48 rank variables is refused."""
    names = [f"v{number}" for number in range(100)]
    sizes = ", ".join(f"{name.upper()}: 2" for name in names)
    text = (
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 8}}\n  einsums:\n"
        f'  - "Z[{", ".join(names[:50])}] = A[{", ".join(names)}]"\n'
    )
    with pytest.raises(SpecError, match="too many rank variables"):
        load_workload(text)


@pytest.mark.nightly
def test_05_limits_of_a_design_that_does_not_listen():
    """A design that does not listen at its limit (a long compiled loop) ends with its process a
    quarter of the limit later; it gets one more attempt, alone, and is recorded as failed."""
    assert statuses((0, 2, 0), DesignLimits(seconds=1.0)) == [
        "feasible",
        ENDED_BY[86],
        "feasible",
    ]


def test_06_the_record_is_written_anew(toy, tmp_path):
    """A `trials.jsonl` that is removed during a run is written anew with all its trials; where it
    was replaced, or its directory is gone, the run ends with an error."""
    log = tmp_path / "run" / "trials.jsonl"
    run_here(toy, tmp_path / "whole")

    class Removing(toy.ToyModel):
        def evaluate(self, point):
            removed = tmp_path / "removed"
            if log.exists() and log.stat().st_size > 4000 and not removed.exists():
                removed.touch()
                log.unlink()
            return super().evaluate(point)

    run_here(toy, tmp_path, None, Removing())
    assert (tmp_path / "removed").exists()
    assert log_of(tmp_path) == log_of(tmp_path / "whole")

    class Replacing(toy.ToyModel):
        def evaluate(self, point):
            other = tmp_path / "other/run/trials.jsonl"
            other.unlink()
            other.write_text("mine")
            return super().evaluate(point)

    with pytest.raises(RunError, match="was removed or replaced"):
        run_here(toy, tmp_path / "other", None, Replacing())
    assert (tmp_path / "other/run/trials.jsonl").read_text() == "mine"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_10_workers_end_with_their_coordinator(tmp_path):
    """Workers look for their coordinator twice a second, and end when it has been killed."""
    process = subprocess.Popen([sys.executable, "-c", SLEEPER, str(tmp_path)])
    assert wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    process.kill()
    process.wait()
    assert wait_until(lambda: not any(map(alive, workers)), 10)


def test_10_a_closed_terminal_finishes_the_batch(tmp_path):
    """SIGHUP finishes the batch like SIGTERM and Ctrl-C; under nohup it stays ignored. `--workers`
    takes at most 64, or four per processor."""
    process = subprocess.Popen(
        [sys.executable, str(TOY), str(tmp_path), "start", "1", "nsga2", "0.02"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    log = tmp_path / "run" / "trials.jsonl"
    assert wait_until(lambda: log.exists() and log.stat().st_size > 0)
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert (tmp_path / "run" / "report.html").exists()
    assert run("study", "run", "wafer_matvec", "--workers", 100_000).exit_code == 2


DAMAGES = {
    "a wrong type": lambda line: line.replace('"number": 3', '"number": "3"'),
    "a status": lambda line: line.replace('"status": "', '"status": "un'),
    "NaN": lambda line: line.replace('"batch": 0', '"batch": NaN'),
    "a missing key": lambda line: line.replace('"batch": 0, ', ""),
    "another key": lambda line: line.replace('"batch": 0', '"batch": 0, "bach": 0'),
    "no object": lambda line: "[1, 2]",
    "deep nesting": lambda line: "[" * 100_000,
    "an edited number": lambda line: line.replace('"GridX": 8', '"GridX": 4').replace("1e", "2e")
    .replace('"key": "', '"key": "0'),
    "no UTF-8": lambda line: line.replace("number", "numb\udcffer"),
}  # fmt: skip


def test_11_a_damaged_line_has_its_place(toy, tmp_path):
    """A damaged or edited line of `trials.jsonl` (wrong types, NaN, missing keys, deep nesting,
    other numbers: each line has a checksum) ends in one message with file, line and what to do."""
    run_here(toy, tmp_path, {"search.trials": 8})
    lines = log_of(tmp_path).decode().splitlines()
    assert line_of(trial_of(lines[3])) == lines[3]
    for name, damage in DAMAGES.items():
        changed = [*lines[:3], damage(lines[3]), *lines[4:]]
        text = "\n".join(changed) + "\n"
        (tmp_path / "run/trials.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(
            SpecError, match=r"damaged[\s\S]*trials\.jsonl:4[\s\S]*instead"
        ) as caught:
            RunDirectory.open(tmp_path / "run").trials()
        assert "head -n 3" in str(caught.value), name


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("point", lambda point: {**point, "arch.Buffer.size": 8}, "a design gives every knob"),
        ("point", lambda point: dict.fromkeys(point, 77), "no such value in the space"),
        ("point", lambda point: {}, "missing: arch"),
        ("metrics", lambda metrics: {"area": 1.0}, "it has no "),
    ],
)
def test_11_a_trial_of_another_study_has_its_place(toy, tmp_path, name, change, words):
    """A trial whose knobs, values or metrics are none of its study, as after another study's file
    was put there, ends in one message with file, line and what to do, whatever reads the run."""
    run_here(toy, tmp_path, {"search.trials": 8})
    lines = log_of(tmp_path).decode().splitlines()
    trial = trial_of(lines[3])
    assert trial.status == "feasible"
    lines[3] = line_of(replace(trial, **{name: change(getattr(trial, name))}))
    (tmp_path / "run/trials.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(TilewrightError) as caught:
        resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
    assert words in str(caught.value)
    assert "trials.jsonl:4" in str(caught.value)
    for command in (("report",), ("show",), ("doctor",), ("query", "energy > 0")):
        verb, *rest = command
        done = run("study", verb, tmp_path / "run", *rest, *(["3"] if verb == "show" else []))
        assert done.exit_code == 2, done.output
        assert words in done.output
        assert "trials.jsonl:4" in done.output


@pytest.mark.parametrize("text", ["[]", "{}", '{"spec": 1}', "{", '{"spec": {}, "files": []}',
                                  "[" * 100_000])  # fmt: skip
def test_11_a_damaged_env_has_its_place(toy, tmp_path, text):
    """A damaged `env.json` ends in one message with the file and what to do; a damaged file of
    details is made again."""
    run_here(toy, tmp_path, {"search.trials": 8})
    (tmp_path / "run/env.json").write_text(text)
    with pytest.raises(SpecError, match=r"env\.json[\s\S]*put back the file"):
        resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))


@pytest.mark.parametrize("note", ['{"when": ""}', '{"batch": "x", "changed": {}}', "[]",
                                  '{"batch": 3, "changed": {"search.trials": 9}}',
                                  '{"batch": 1, "changed": {}, "when": 1e400}'])  # fmt: skip
def test_11_a_damaged_note_of_an_extension_has_its_place(toy, tmp_path, note):
    """A damaged note of how a run was extended, or a number that is not finite, in `env.json` ends
    in one message with the file and what to do."""
    run_here(toy, tmp_path, {"search.trials": 8})
    path = tmp_path / "run/env.json"
    environment = json.loads(path.read_text()) | {"extensions": ["here"]}
    path.write_text(json.dumps(environment).replace('"here"', note))
    for command in (["resume", tmp_path / "run", "--trials", "9"], ["report", tmp_path / "run"]):
        done = run("study", *command)
        assert done.exit_code == 2, done.output
        assert re.search(r"env\.json[\s\S]*put back the file", done.output)


def test_11_no_link_is_followed(toy, tmp_path):
    """A run directory that holds a symbolic link is refused before anything is written or deleted;
    drafts have names of their own and are never written through a link."""
    run_here(toy, tmp_path, {"search.trials": 8})
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "000001.json").write_text("{}")
    details = tmp_path / "run/details"
    for path in details.iterdir():
        path.unlink()
    details.rmdir()
    details.symlink_to(precious)
    with pytest.raises(RunError, match=r"details is a symbolic link"):
        resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
    assert (precious / "000001.json").exists()


def test_11_three_processes_and_one_directory(tmp_path):
    """Of several processes that start a run in one directory, one gets it; the others end with
    `holds a run already`, and leave nothing behind."""
    toy_file = str(TOY)
    (tmp_path / "a").mkdir()
    processes = [
        subprocess.Popen(
            [sys.executable, toy_file, str(tmp_path / "a"), "start", "1"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert min(process.returncode for process in processes) == 0
    losers = [text for process, text in zip(processes, errors, strict=True) if process.returncode]
    assert len(losers) == 2
    assert all("holds a run already" in text for text in losers), losers
    assert not [path for path in (tmp_path / "a").iterdir() if path.name.endswith(".draft")]


class Strange(Exception):
    """An error whose text fails with another one."""

    def __str__(self):
        raise self.args[0]


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (lambda: sys.exit(3), "error"),
        (lambda: Outcome({"y": 1.0}, details={"x": object()}), "feasible"),
        (lambda: Outcome({"y": 1.0}, details={"x": "\udcff"}), "feasible"),
        (lambda: Outcome(reason="bad \udcff"), "infeasible"),
        (lambda: Outcome({"y": 10**400}), "infeasible"),
        (lambda: (_ for _ in ()).throw(Strange(RuntimeError())), "error"),
        (lambda: (_ for _ in ()).throw(Strange(SystemExit(7))), "error"),
    ],
)
def test_12_evaluators_of_the_user(act, status):
    """An evaluator that exits, returns details that are no JSON, lone surrogates or numbers that no
    float holds, or raises an error whose text fails, costs its own design; the study goes on."""

    class Own:
        def evaluate(self, point):
            outcome = act()
            return next(outcome) if not isinstance(outcome, Outcome) else outcome

    outcome = attempt(Own(), {}).outcome
    assert outcome.status == status
    json.dumps([outcome.reason, dict(outcome.details)], ensure_ascii=False).encode()


def test_12_and_14_odd_surroundings(folder, shell):
    """A folder whose name is no UTF-8 and a closed standard error do no harm; a closed standard
    output (`| head -0`) ends with exit code 0 and keeps the report; a full disk ends with 4."""
    odd = folder / os.fsdecode(b"odd\xff")
    odd.mkdir()
    for name in ("arch.yaml", "work.yaml", "study.yaml"):
        (odd / name).write_text((folder / name).read_text())
    done = shell("tilewright study run study.yaml --workers 1 2>&- >/dev/null", odd)
    assert done.returncode == 0, done.stderr
    done = shell("tilewright study run study.yaml --workers 1 --out r | head -0; "
                 "echo ${PIPESTATUS[0]}", folder)  # fmt: skip
    assert done.stdout.split() == ["0"], done.stderr
    assert (folder / "r/report.html").exists()
    if Path("/dev/full").exists():
        done = shell("tilewright study report r > /dev/full", folder)
        assert done.returncode == 4, done.stderr


def test_14_an_early_end_has_tried_nothing(toy, tmp_path):
    """A run that ends before its first batch says that nothing has been tried, not that no design
    is feasible."""
    import threading

    from tilewright.dse.report.conclusion import conclusion

    stop = threading.Event()
    stop.set()
    run_here(toy, tmp_path, {"search.trials": 8})
    (tmp_path / "run/trials.jsonl").write_text("")
    result = resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel(), stop=stop))
    assert result.ending == "interrupted"
    assert "nothing has been tried yet" in conclusion(result.spec, result.trials)
    assert "No design is feasible" not in conclusion(result.spec, result.trials)
