"""The documents run: the tour, the README's commands, the glossary's types."""

import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_tour_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "docs" / "tour.py"), run_name="__main__")
    told = capsys.readouterr().out
    for step in ("components, top down", "best:", "cycles", "Pareto front"):
        assert step in told


def test_the_tour_stays_short() -> None:
    assert len((ROOT / "docs" / "tour.py").read_text().splitlines()) <= 170


def test_ci_runs_the_readme_s_test_line() -> None:
    line = subprocess.run(
        [sys.executable, ROOT / "tools" / "readme_lines.py", "test"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert line == ".venv/bin/python -m pytest"
    assert "readme_lines.py test" in (ROOT / ".ci" / "run").read_text()


def test_every_command_that_the_readme_names_exists() -> None:
    from click.testing import CliRunner

    from tilewright.dse.command.cli import cli

    named = re.findall(
        r"`tilewright ([a-z]+)(?: (list|run|resume|report))?", (ROOT / "README.md").read_text()
    )
    assert len(named) >= 7
    for command, sub in named:
        words = [word for word in (command, sub if command == "study" else "") if word]
        result = CliRunner().invoke(cli, [*words, "--help"])
        assert result.exit_code == 0, words
        assert "Usage:" in result.output


TYPES = re.findall(
    r"\| `((?:arch|mapper|simulator)\.[A-Za-z_.]+)`", (ROOT / "docs/glossary.md").read_text()
)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_the_glossary_exists(name: str) -> None:
    parts = name.split(".")
    module = next(
        f"tilewright.{'.'.join(parts[:length])}"
        for length in range(len(parts), 0, -1)
        if (ROOT / "/".join(parts[:length])).is_dir()
        or (ROOT / "/".join(parts[:length])).with_suffix(".py").is_file()
    )
    found = importlib.import_module(module)
    for part in parts[module.count(".") :]:
        found = getattr(found, part)
