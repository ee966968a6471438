"""How the tests' runs use memo.py: its options, its summary, and writing by one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import memo
import pytest
from sources import closure

KEY = "oracles"  # what workers send
Sent = tuple[dict[str, memo.Answers], int, int]


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("oracles", "stored answers of slow oracles")
    told = "run the tests that ask oracles, and store what was not stored"
    group.addoption("--update-oracles", action="store_true", help=told)
    told = "run the tests that ask oracles; a stored answer that differs is an error"
    group.addoption("--recompute-oracles", action="store_true", help=told)


class MemoPlugin:
    """Collects the answers of all processes of a run."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.used: dict[str, memo.Answers] = {}
        self.stored = self.computed = 0
        memo.memo.recompute = config.getoption("recompute_oracles")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Storing or comparing answers runs the tests that ask for some, and no others."""
        if self.config.getoption("update_oracles") or memo.memo.recompute:
            source = Path(memo.__file__).resolve()
            asking = [item for item in items if source in closure(item.path.resolve())]
            self.config.hook.pytest_deselected(items=[i for i in items if i not in set(asking)])
            items[:] = asking

    @pytest.hookimpl(optionalhook=True)  # xdist's: a run without it has no such hook
    def pytest_testnodedown(self, node: Any) -> None:
        self.add(getattr(node, "workeroutput", {}).get(KEY, ({}, 0, 0)))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        own = memo.memo
        sent: Sent = (dict(own.used), own.stored, own.computed)
        worker_output = getattr(self.config, "workeroutput", None)
        if worker_output is not None:
            worker_output[KEY] = sent
            return
        self.add(sent)
        if self.config.getoption("update_oracles"):
            memo.update(self.used, prune=exitstatus == 0 and self.runs_all())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.stored or self.computed:
            terminalreporter.write_line(
                f"oracles: {self.stored} answers were stored, {self.computed} computed"
            )

    def add(self, sent: Sent) -> None:
        """Add what one process asked for."""
        used, stored, computed = sent
        for name, answers in used.items():
            self.used.setdefault(name, {}).update(answers)
        self.stored += stored
        self.computed += computed

    def runs_all(self) -> bool:
        """Tell whether every test of every day runs."""
        config = self.config
        chosen = config.args_source is not config.ArgsSource.TESTPATHS or config.option.keyword
        return not chosen and config.option.markexpr == "not nightly"
