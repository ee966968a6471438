"""A run copied to a real PostgreSQL server, which goes away and comes back; the real dashboard."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import optuna
import pytest

from tilewright.dse.run.runner import RunSettings, resume_study, start_study
from tilewright.dse.store.extension import Changes
from tilewright.dse.store.mirror import with_mirrors
from tilewright.dse.study.study_loading import load_study

pytestmark = pytest.mark.nightly


class Silent:
    def batch(self, trials, seconds, sharing):
        pass

    def evaluated(self, done, count):
        pass


class StopsServer(Silent):
    """Stops a server after the first batch."""

    def __init__(self, server):
        self._server = server

    def batch(self, trials, seconds, sharing):
        if len(trials) == 8:
            self._server.ctl("stop", "-m", "immediate")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A PostgreSQL server of its own in a folder. It does not run as root: then as `postgres`."""

    def __init__(self, folder: Path):
        self._as = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        self._data, self.port = folder / "data", free_port()
        if self._as:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "user")
        self.url = f"postgresql://user@127.0.0.1:{self.port}/postgres"
        self.start()

    def _run(self, program, *arguments):
        place = shutil.which(program)
        subprocess.run([*self._as, place, *map(str, arguments)], check=True, cwd="/",
                       stdout=subprocess.DEVNULL)  # fmt: skip

    def start(self):
        folder = self._data.parent
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {folder}"
        self.ctl("start", "-w", "-l", folder / "log", "-o", options)

    def ctl(self, *arguments):
        self._run("pg_ctl", "-D", self._data, *arguments)


@pytest.fixture
def server():
    pytest.importorskip("psycopg2", reason="no driver: pip install psycopg2-binary")
    if not shutil.which("initdb") or not shutil.which("pg_ctl"):
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory() as folder:  # pytest closes its own to other users
        server = Server(Path(folder))
        yield server
        server.ctl("stop", "-m", "immediate")


def with_driver(url):
    return url.replace("postgresql:", "postgresql+psycopg2:")


def mirrored_numbers(url):
    study = optuna.load_study(study_name="toy", storage=with_driver(url))
    return [trial.user_attrs["number"] for trial in study.get_trials(deepcopy=False)]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_server_that_stops_is_brought_up_to_date_and_the_dashboard_shows_it(
    toy, tmp_path, server, capsys
):
    spec = load_study(toy.write_study(tmp_path), {"search.trials": 24})

    def execution(watcher):
        watcher = with_mirrors(watcher, spec, (server.url,), "toy")
        return RunSettings(evaluator=toy.ToyModel(0.0), watcher=watcher)

    run = start_study(spec, tmp_path / "run", execution(StopsServer(server))).run
    assert "is left behind" in capsys.readouterr().err
    server.start()
    assert mirrored_numbers(server.url) == []
    trials = resume_study(run.path, execution(Silent()), Changes(trials=32)).trials
    assert mirrored_numbers(server.url) == [trial.number for trial in trials]
    shown = trials_of_dashboard(with_driver(server.url))
    assert len(shown) == len(trials)


def trials_of_dashboard(url):
    """Start the dashboard on a storage and return the trials of the first study that it serves."""
    pytest.importorskip("optuna_dashboard", reason="pip install optuna-dashboard")
    port = free_port()
    command = [sys.executable, "-m", "optuna_dashboard._cli", url, "--port", str(port)]
    dashboard = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                (study,) = answered(port, "studies")["study_summaries"]
                return answered(port, f"studies/{study['study_id']}?after=0")["trials"]
            except (OSError, ValueError):
                assert time.monotonic() < end
                assert dashboard.poll() is None
                time.sleep(0.5)
    finally:
        dashboard.kill()
        dashboard.wait()


def answered(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}", timeout=10) as answer:
        return json.load(answer)
