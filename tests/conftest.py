"""Fixtures that all tests share: golden text files and the reference cases beside the checkout."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

import bytecode_once
import explore
import memo_plugin
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tilewright.arch import parallel_compilation

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = Path(__file__).resolve().parent / "golden"

gc.set_threshold(100_000, 50, 100)  # most objects of a run stay: modules, tests, caches

# CI draws the same examples every time, so few of them; `make explore` draws others, and more.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, max_examples=15)
settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run folders of tests in a process per core; a file, a test or a debugger in this one.

    An explicit `-n` (`-n 0`: this process) and `-p no:xdist` have the last word.
    """
    option = config.option
    if hasattr(config, "workerinput") or getattr(option, "numprocesses", 0) is not None:
        return
    watched = option.usepdb or option.collectonly or option.capture == "no"
    folders = all(Path(argument.partition("::")[0]).is_dir() for argument in config.args)
    if folders and not watched:
        option.numprocesses = "auto"
        if option.dist == "no":
            option.dist = "worksteal"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")
    parser.addoption("--all-answers", action="store_true", help="compare all of tests/answers")
    parser.addoption("--share", default="1/1", help="run the n-th of m shares of the tests: n/m")
    memo_plugin.add_options(parser)
    explore.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    os.environ["TILEWRIGHT_KNOWN"] = "off"  # what earlier runs of this user have left
    whole = not any("::" in argument for argument in config.args)  # none is asked for by name
    explore.collect(without_nightly=whole and config.option.markexpr == "not nightly")
    bytecode_once.register(config)
    config.pluginmanager.register(memo_plugin.MemoPlugin(config))
    if config.option.explore_seed:
        config.pluginmanager.register(explore.ExplorePlugin(config))
    else:
        # hypothesis tries numbers of the sources that are imported: other examples in every worker.
        providers._get_local_constants = Constants
    if hasattr(config, "workerinput"):  # each processor has a worker: more processes only cost
        parallel_compilation.MOST_PROCESSES = 1  # type: ignore[misc]


def pytest_collection_finish() -> None:
    """Spare the collector of garbage the thousands of tests: an eighth of all CPU time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep every m-th test, so that each share has some of every family."""
    number, shares = map(int, config.option.share.split("/"))
    kept = items[number - 1 :: shares]
    if shares > 1:
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


@pytest.fixture(scope="session", autouse=True)
def _signals_of_a_terminal() -> None:
    """A command in the background ignores some signals, and so would all that the tests start."""
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)


@pytest.fixture
def shift(request: pytest.FixtureRequest) -> int:
    """The first seed of a family that draws its cases from seeds of its own."""
    first: int = request.config.option.explore_seed
    return first


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Print a line at the end of the run; the test passes all the same."""
    return lambda text: record_property("note", text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.getreports("passed"):
        for name, text in report.user_properties:
            if name == "note":
                terminalreporter.write_line(f"note: {text}")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the third-party reference cases; skips, loudly, where it is absent.

    A folder that TILEWRIGHT_SHARED_DATA names must be there.
    """
    named = os.environ.get("TILEWRIGHT_SHARED_DATA")
    folder = Path(named or ROOT.parent / "shared" / "data")
    if named and not folder.is_dir():
        pytest.fail(f"TILEWRIGHT_SHARED_DATA names no folder: {named}")
    if not folder.is_dir():
        pytest.skip(
            f"reference cases not found at {folder}: set TILEWRIGHT_SHARED_DATA to run this"
        )
    return folder


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compare a text with tests/golden/<test file>/<test name>.txt (refresh: --update-golden)."""
    name = request.node.name.replace("/", "_").replace("[", "-").replace("]", "")
    path = GOLDEN / Path(str(request.node.fspath)).stem / f"{name}.txt"

    def check(text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            pytest.fail(f"no golden file {path}; write it with: pytest --update-golden")
        assert text == path.read_text(encoding="utf-8")

    return check
