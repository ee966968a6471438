"""The page docs/tensor-layouts.md shows what the command and the example print."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tilewright.dse.command.cli import cli

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tensor-layouts.md").read_text("utf-8")
BLOCKS = re.findall(r"```(?:python)?\n(.*?)```", PAGE, re.DOTALL)


def test_the_command_prints_what_the_page_shows() -> None:
    command, _, shown = BLOCKS[0].partition("--machine wormhole\n")
    text = command.partition('"')[2].rpartition('"')[0]
    result = CliRunner().invoke(cli, ["layout", text, "--machine", "wormhole"])
    assert result.exit_code == 0, result.output
    assert result.stdout == shown


@pytest.mark.parametrize("number", [1, 3])
def test_an_example_prints_what_the_page_shows(number: int) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(BLOCKS[number], "docs/tensor-layouts.md", "exec"), {})
    assert printed.getvalue() == BLOCKS[number + 1]
