"""The first Ctrl-C asks searches to stop, the second ends the program."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from tilewright.dse.command.cli import cli
from tilewright.dse.run.interrupts import stopping_searches
from tilewright.mapper.searches import api
from tilewright.mapper.searches.budget import STOP_REQUESTED
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import SearchResult


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_asks_and_the_second_ends(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with stopping_searches():
        interrupt()
        assert STOP_REQUESTED.is_set()
        assert "stopping: the best mapping so far follows" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert not STOP_REQUESTED.is_set()
    assert signal.getsignal(signal.SIGINT) == before


def test_other_threads_handle_no_signals() -> None:
    before = signal.getsignal(signal.SIGINT)
    handlers: list[object] = []

    def work() -> None:
        with stopping_searches():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [before]


def test_map_prints_and_saves_the_best_mapping_when_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C right after the first mapping: exit code 0, the mapping with its bound, and a note."""
    first_mapping = api.first_mapping

    def interrupted(request: Request) -> SearchResult | None:
        result = first_mapping(request)
        interrupt()
        return result

    monkeypatch.setattr(api, "first_mapping", interrupted)
    saved = tmp_path / "best.yaml"
    files = ["--arch", "gpu_like", "--workload", "mlp4"]
    run = CliRunner().invoke(cli, ["map", *files, "--save", str(saved)])
    assert run.exit_code == 0
    assert "best found; a lower bound of energy is" in run.stdout
    assert "verified" in run.stdout
    assert "mapping" in saved.read_text(encoding="utf-8")
    assert not STOP_REQUESTED.is_set()
