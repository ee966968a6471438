"""Islands give the same bytes for any workers, kills and hash seeds; fronts travel between them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from design_files import log_of
from toy_module import TOY

from tilewright.arch.errors import SpecError
from tilewright.dse.islands.rounds import island_directory, read_rounds
from tilewright.dse.query.open_run import open_run
from tilewright.dse.run.record import front_of
from tilewright.dse.run.runner import RunSettings, resume_study, start_study
from tilewright.dse.run.study_loop import is_complete
from tilewright.dse.store.extension import Changes
from tilewright.dse.store.safe_files import RunError
from tilewright.dse.study.study_loading import load_study

SETTINGS = {"search.sampler": "nsga2", "search.islands": 3}


def started(toy, folder, stop=None, model=None):
    spec = load_study(toy.write_study(folder), SETTINGS)
    return start_study(
        spec, folder / "run", RunSettings(evaluator=model or toy.ToyModel(), stop=stop)
    )


@pytest.fixture(scope="module")
def whole(toy, tmp_path_factory):
    """The folder of a run of three islands that nothing interrupts, and its result."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, started(toy, folder)


def test_one_record_of_different_designs(whole):
    folder, result = whole
    run = open_run(folder / "run")
    assert result.ending == "done"
    assert result.spec.trials == 72
    assert 72 <= len(run.designs()) <= 144, "and none of them twice"
    assert is_complete(result.spec, run.trials)
    for trial in run:
        island = island_directory(run.directory, trial.sampler["island"])
        original = island.trials()[trial.sampler["trial"]]
        assert (original.key, original.metrics) == (trial.key, trial.metrics)
        if trial.same_as is not None:
            assert run.trial(trial.same_as).key == trial.key
    assert len(run.seconds) == len(run.designs())
    assert {t.sampler["island"] for t in run.designs()} == {0, 1, 2}


def test_guests_come_from_the_front_of_the_neighbour(whole):
    folder, result = whole
    run = open_run(folder / "run").directory
    rounds = read_rounds(run)
    records = [island_directory(run, number).trials() for number in range(3)]
    assert any(part.guests for each in rounds for part in each)
    for each in rounds:
        for number, part in enumerate(each):
            before = [t for t in records[number - 1] if t.batch < each[number - 1].first]
            front = [dict(t.point) for t in front_of(before, result.spec.objectives)]
            batch = [dict(t.point) for t in records[number] if t.batch == part.first]
            assert list(part.guests) == batch[: len(part.guests)]
            assert all(guest in front for guest in part.guests)


def test_killed_in_another_process_and_stopped_here(toy, whole, tmp_path):
    process = subprocess.Popen(
        [sys.executable, str(TOY), str(tmp_path), "start", "2", "nsga2:3", "0.03"],
        env={**os.environ, "PYTHONHASHSEED": "1"},
    )
    second = tmp_path / "run/islands/001/trials.jsonl"
    deadline = time.monotonic() + 60
    while (not second.exists() or len(second.read_bytes().splitlines()) < 10) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    stop = threading.Event()

    class Stopping(toy.ToyModel):
        def evaluate(self, point):
            stop.set()
            return super().evaluate(point)

    result = resume_study(tmp_path / "run", RunSettings(evaluator=Stopping(), stop=stop))
    assert result.ending == "interrupted"
    resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
    assert log_of(tmp_path) == log_of(whole[0])
    assert (tmp_path / "run/front.json").read_bytes() == (whole[0] / "run/front.json").read_bytes()


def test_more_trials_but_no_other_search(toy, tmp_path):
    started(toy, tmp_path)
    before = log_of(tmp_path)
    how = RunSettings(evaluator=toy.ToyModel())
    result = resume_study(tmp_path / "run", how, Changes(trials=80))
    assert result.spec.trials == 80
    assert is_complete(result.spec, result.trials)
    assert log_of(tmp_path).startswith(before)
    with pytest.raises(RunError, match="--trials N alone"):
        resume_study(tmp_path / "run", how, Changes(settings={"search.sampler": "tpe"}))


def test_studies_that_islands_cannot_search(toy, tmp_path):
    path = toy.write_study(tmp_path)
    with pytest.raises(SpecError, match="would try the same designs"):
        load_study(path, {"search.islands": 2, "search.sampler": "grid"})
    with pytest.raises(SpecError, match="there is one"):
        load_study(path, {"search.migration": 4})
    assert "islands" not in load_study(path).resolved["search"]
