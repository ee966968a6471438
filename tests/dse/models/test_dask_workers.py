"""A study on a Dask cluster: a real scheduler and workers, each a process, some of them killed."""

from __future__ import annotations

import importlib
import lzma
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.shipped import studies_folder
from tilewright.dse.islands.rounds import ISLANDS
from tilewright.dse.models import dask_workers
from tilewright.dse.models.dask_workers import WINDOW, _packed_attempt, check_executor
from tilewright.dse.models.evaluator import Outcome, WorkerLost
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.run.rundir import TRIALS
from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.study.study_loading import load_study

HERE = Path(__file__).resolve().parent


class Cluster:
    """A scheduler and workers as processes of this machine.

    `patience`: how long the scheduler waits for a word of a worker until it gives it up; `count`:
    workers at the start.
    """

    def __init__(self, folder, patience, count=2):
        self._patience, self._count = patience, count
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self._folder = folder
        self.start()

    def start(self):
        """Start a scheduler, and the workers once it listens."""
        host, port = self.address.split(":")
        self.scheduler = self._start("scheduler", "--port", port, "--host", host, "--no-dashboard")
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    break
            time.sleep(0.1)
        self.workers = [self.new_worker() for _ in range(self._count)]

    def _start(self, *command):
        environment = {
            **os.environ,
            "PYTHONPATH": f"{HERE.parent}{os.pathsep}{HERE}",
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": self._patience,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            env=environment, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def new_worker(self):
        return self._start("worker", self.address, "--nthreads", "1", "--no-nanny",
                           "--no-dashboard")  # fmt: skip

    def restart_scheduler(self):
        self.close()
        self.start()

    def kill_worker(self, number=0):
        self.workers[number].send_signal(signal.SIGKILL)
        self.workers[number].wait()
        self.workers[number] = self.new_worker()

    def cut_off_worker(self, seconds=12.0):
        """Stop a worker until the scheduler has given it up; then it comes back."""
        self.workers[0].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.workers[0].send_signal(signal.SIGCONT)

    def close(self):
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path, request):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install tilewright[dask]")
    cluster = Cluster(tmp_path, getattr(request, "param", "300s"))
    yield cluster
    cluster.close()


def same_bytes(toy, folder, cluster, harms):
    """Tell whether a run has the bytes of a local one, if such harm is done while it goes."""
    spec = load_study(toy.write_study(folder), {"search.trials": 16 + 8 * len(harms)})
    local = start_study(spec, folder / "local", RunSettings(evaluator=toy.ToyModel(0.0)))
    trials = folder / "dask" / TRIALS
    harm = threading.Thread(target=do_harm, args=(trials, harms), daemon=True)
    harm.start()
    execution = RunSettings(evaluator=toy.ToyModel(0.05), executor=f"dask://{cluster.address}")
    start_study(spec, folder / "dask", execution)
    harm.join()
    return (folder / "dask" / TRIALS).read_bytes() == (local.run.path / TRIALS).read_bytes()


def do_harm(trials, harms):
    """Do harm in the middle of each batch but the first."""
    for number, harm in enumerate(harms, 1):
        while not trials.exists() or trials.read_bytes().count(b"\n") < 8 * number:
            time.sleep(0.02)
        time.sleep(0.1)
        harm()


@pytest.mark.nightly
@pytest.mark.parametrize("sampler", ["nsga2", "tpe"])
def test_same_bytes_for_one_two_and_eight_workers(toy, tmp_path, sampler, monkeypatch):
    """Of loky and of Dask: trials and front."""
    pytest.importorskip("distributed", reason="Dask is not installed: pip install tilewright[dask]")
    monkeypatch.setenv("PYTHONPATH", str(HERE.parent))  # the workers import the toy
    monkeypatch.syspath_prepend(HERE.parent)
    settings = {"search.trials": 40, "search.batch": 16, "search.sampler": sampler}
    spec = load_study(toy.write_study(tmp_path), settings)
    found = set()
    for executor in ("loky", "dask"):
        for workers in (1, 2, 8):
            folder = tmp_path / f"{executor}{workers}"
            model = toy.ToyModel(0.02)
            start_study(spec, folder, RunSettings(workers, evaluator=model, executor=executor))
            found.add(((folder / TRIALS).read_bytes(), (folder / "front.json").read_bytes()))
    assert len(found) == 1


def test_same_bytes_with_a_worker_killed(toy, tmp_path, cluster):
    assert same_bytes(toy, tmp_path, cluster, [cluster.kill_worker])


@pytest.mark.nightly
def test_same_bytes_with_a_worker_killed_twenty_times(toy, tmp_path, cluster):
    kills = [partial(cluster.kill_worker, number % 2) for number in range(20)]
    assert same_bytes(toy, tmp_path, cluster, kills)


@pytest.mark.nightly
@pytest.mark.parametrize("cluster", ["4s"], indirect=True)
def test_same_bytes_with_a_worker_cut_off_and_back(toy, tmp_path, cluster):
    assert same_bytes(toy, tmp_path, cluster, [cluster.cut_off_worker])


@pytest.mark.nightly
def test_same_bytes_with_the_scheduler_started_again(toy, tmp_path, cluster):
    assert same_bytes(toy, tmp_path, cluster, [cluster.restart_scheduler] * 2)


@pytest.fixture
def importable(monkeypatch):
    """Let processes that a test starts import the module of its model."""
    monkeypatch.syspath_prepend(str(HERE.parent))


def islands_in(toy, folder, **execution):
    spec = load_study(toy.write_study(folder), {"search.islands": 3, "search.trials": 32})
    run = start_study(spec, folder / "run", RunSettings(**execution)).run
    return (run.path / TRIALS).read_bytes()


@pytest.mark.usefixtures("importable")
def test_islands_share_a_cluster_and_a_worker_is_killed(toy, tmp_path, cluster):
    record = tmp_path / "dask" / "run" / ISLANDS / "001" / TRIALS
    harm = threading.Thread(target=do_harm, args=(record, [cluster.kill_worker]), daemon=True)
    harm.start()
    model, executor = toy.ToyModel(0.02), f"dask://{cluster.address}"
    there = islands_in(toy, tmp_path / "dask", evaluator=model, executor=executor)
    harm.join()
    assert there == islands_in(toy, tmp_path / "local", evaluator=toy.ToyModel())


@pytest.mark.nightly
@pytest.mark.usefixtures("importable")
def test_islands_on_dask_workers_of_this_machine(toy, tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install tilewright[dask]")
    there = islands_in(toy, tmp_path / "dask", evaluator=toy.ToyModel(), executor="dask", workers=2)
    assert there == islands_in(toy, tmp_path / "local", evaluator=toy.ToyModel())


@pytest.mark.nightly
@pytest.mark.parametrize("study", ["wafer_stencil", "tpu_v4i_gpt3"])
def test_what_a_worker_sends_is_small(study):
    spec = load_study(studies_folder() / study / "study.yaml")
    point = spec.baselines[0].point
    packed = _packed_attempt(make_evaluator(spec), point, spec.limits)
    assert len(packed) < 10_000
    attempt = pickle.loads(lzma.decompress(packed))
    assert attempt.outcome.status == "feasible"
    assert attempt.outcome.details["sections"]


class NotesItsTime:
    """A model that takes a second, and notes when."""

    def __init__(self, model, folder):
        self._model, self._folder = model, folder

    def evaluate(self, point):
        start = time.time()
        time.sleep(1.0)
        (self._folder / f"{os.getpid()}-{start}").write_text(f"{start} {time.time()}")
        return self._model.evaluate(point)


@pytest.mark.nightly
def test_workers_that_come_within_a_batch_get_work(toy, tmp_path, monkeypatch):
    """As where a queue starts the jobs of workers one after the other."""
    pytest.importorskip("distributed", reason="Dask is not installed: pip install tilewright[dask]")
    monkeypatch.syspath_prepend(HERE)
    notes = tmp_path / "notes"
    notes.mkdir()
    spec = load_study(toy.write_study(tmp_path), {"search.trials": 48, "search.batch": 48})
    cluster = Cluster(tmp_path, "300s", count=1)
    try:

        def come_later():
            while not any(notes.iterdir()):
                time.sleep(0.05)
            cluster.workers.extend(cluster.new_worker() for _ in range(WINDOW + 2))

        later = threading.Thread(target=come_later, daemon=True)
        later.start()
        model = importlib.import_module("test_dask_workers").NotesItsTime(toy.ToyModel(), notes)
        execution = RunSettings(evaluator=model, executor=f"dask://{cluster.address}")
        start_study(spec, tmp_path / "run", execution)
        later.join()
    finally:
        cluster.close()
    spans = [tuple(map(float, note.read_text().split())) for note in notes.iterdir()]
    assert len(spans) >= 24
    at_once = max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)
    assert at_once > WINDOW, "more than the one worker at the start was given"


def test_a_lost_scheduler_prints_no_traceback(cluster):
    """The loggers of Dask, whose levels are set when it is loaded, write to standard error."""
    code = (
        "from tilewright.dse.models.dask_workers import DaskWorkers\n"
        "import logging\n"
        f"with DaskWorkers(None, {f'dask://{cluster.address}'!r}, 1):\n"
        "    import distributed\n"
        "    for name in ('distributed.client', 'distributed.utils', 'distributed.core'):\n"
        "        logging.getLogger(name).error('a peer is lost')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr == ""


def evaluated_while(cluster, harm):
    """Evaluate designs with the workers of a cluster to which harm is done after the first."""
    noted = []
    model = importlib.import_module("test_dask_workers").Doubled()

    def note(done, count):
        if not noted:
            harm()
        noted.append((done, count))

    points = [{"x": number} for number in range(12)]
    executor = f"dask://{cluster.address}"
    with dask_workers.DaskWorkers(model, executor, 1) as workers:
        return workers.evaluate(points, note)


class Doubled:
    """A model that is slow enough to be interrupted."""

    def evaluate(self, point):
        time.sleep(0.05)
        return Outcome({"cost": 2.0 * point["x"]})


def test_the_user_is_told_of_a_scheduler_that_is_awaited_and_back(cluster, capsys, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    attempts = evaluated_while(cluster, cluster.restart_scheduler)
    assert [each.outcome.metrics["cost"] for each in attempts] == [2.0 * n for n in range(12)]
    lost, back = capsys.readouterr().err.splitlines()[-2:]  # busy machines have workers late
    assert lost == (
        f"the Dask scheduler at {cluster.address} is lost; waiting at most 60 s for a scheduler"
        " with a worker there, then the run ends and can be resumed (study resume)"
    )
    assert back == "the Dask scheduler answers and has a worker; the study goes on"


def test_the_user_is_told_of_a_scheduler_that_is_given_up(cluster, capsys, monkeypatch):
    monkeypatch.syspath_prepend(HERE)

    def give_up_soon():
        monkeypatch.setattr(dask_workers, "_FIRST_TRY", 1.0)
        monkeypatch.setattr(dask_workers, "_PATIENCE", 3.0)
        capsys.readouterr()
        cluster.close()

    with pytest.raises(WorkerLost, match="no Dask scheduler with a worker"):
        evaluated_while(cluster, give_up_soon)
    (lost,) = capsys.readouterr().err.splitlines()
    assert "is lost; waiting at most 3 s" in lost


def test_the_user_is_told_of_a_scheduler_without_workers(cluster, capsys, monkeypatch):
    monkeypatch.setattr(dask_workers, "_FIRST_TRY", 1.0)
    monkeypatch.setattr(dask_workers, "_PATIENCE", 2.0)
    cluster.close()
    workers = dask_workers.DaskWorkers(Doubled(), f"dask://{cluster.address}", 1)
    with pytest.raises(WorkerLost, match="no Dask scheduler"), workers:
        pass
    (awaited,) = capsys.readouterr().err.splitlines()
    assert "does not answer, or has no worker; waiting at most 2 s" in awaited


def test_another_executor_is_refused_before_there_is_a_run(toy, tmp_path):
    spec = load_study(toy.write_study(tmp_path))
    with pytest.raises(TilewrightError, match="no such executor"):
        start_study(spec, tmp_path / "run", RunSettings(evaluator=toy.ToyModel(), executor="slurm"))
    assert not (tmp_path / "run").exists()
    with pytest.raises(TilewrightError, match="no such executor"):
        check_executor("slurm")
    with pytest.raises(TilewrightError, match="one coordinator has one scheduler"):
        check_executor("dask://first:8786,second:8786")
