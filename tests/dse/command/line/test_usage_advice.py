"""Mistakes in the command line: each says what to write instead."""

from __future__ import annotations

import click
import pytest
from design_files import run

from tilewright.dse.command.cli import cli
from tilewright.dse.command.line.usage_advice import OTHER_NAMES, value_example


def commands(group, words=()):
    """Yield the words and the command of each command that is no group."""
    for name, inner in group.commands.items():
        if isinstance(inner, click.Group):
            yield from commands(inner, (*words, name))
        else:
            yield (*words, name), inner


COMMANDS = dict(commands(cli))
VALUED = [
    (words, option)
    for words, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
]
ARGUMENTS = [
    words
    for words, command in COMMANDS.items()
    if any(each.required for each in command.params if isinstance(each, click.Argument))
]


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("study run wafer_matvec --dir X", "'--dir'. Write --out runs/first."),
        ("study run wafer_matvec -j 8", "'-j'. Write --workers 8."),
        ("map --architecture a --workload b", "'--architecture'. Write --arch tpu_v4i."),
        ("study query runs/a --reverse", "'--reverse'. Write --descending."),
        ("study export runs/a --csv", "requires an argument. Write --csv trials.csv."),
        ("study show runs/a", "Write, for example, tilewright study show runs/wafer_matvec 14"),
        (
            "map --machine --arch a --workload b",
            "--machine took --arch for its value. Write --machine",
        ),
        ("map --arch tpu_v4i", "Write, for example, tilewright map --arch tpu_v4i --workload"),
    ],
)
def test_a_mistake_says_what_to_write_instead(line, advice):
    done = run(*line.split())
    assert done.exit_code == 2
    assert advice in done.stderr
    assert "Did you mean" not in done.stderr
    assert done.stderr.startswith("Usage: ")


def test_an_option_that_is_almost_right_is_named():
    assert "Did you mean '--workers'" in run("study", "run", "wafer_matvec", "--worker", "2").stderr


@pytest.mark.parametrize(("words", "option"), VALUED, ids=str)
def test_each_missing_value_has_an_example(words, option):
    name = max(option.opts, key=len)
    done = run(*words, name)
    assert done.exit_code == 2
    example = value_example(COMMANDS[words], option)
    assert f"requires an argument. Write {name} {example}." in done.stderr
    assert example != option.make_metavar(click.Context(COMMANDS[words]))


@pytest.mark.parametrize("words", ARGUMENTS, ids=" ".join)
def test_each_missing_argument_has_an_example(words):
    done = run(*words)
    assert done.exit_code == 2
    assert f"Write, for example, tilewright {' '.join(words)} " in done.stderr


def test_other_names_are_no_options_of_ours_and_stand_for_some():
    ours = {
        name
        for command in COMMANDS.values()
        for each in command.params
        if isinstance(each, click.Option)
        for name in each.opts
    }
    assert not OTHER_NAMES.keys() & ours
    assert set(OTHER_NAMES.values()) <= ours
