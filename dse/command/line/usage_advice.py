"""What to write instead of a command line that has a mistake: another option, a missing value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import click

OTHER_NAMES = {
    "--architecture": "--arch",
    "--count": "--limit",
    "--dir": "--out",
    "--directory": "--out",
    "--folder": "--out",
    "--head": "--limit",
    "--jobs": "--workers",
    "--memory": "--max-memory",
    "--order-by": "--sort",
    "--out-dir": "--out",
    "--outdir": "--out",
    "--output": "--out",
    "--output-dir": "--out",
    "--output-directory": "--out",
    "--param": "--set",
    "--processes": "--workers",
    "--reverse": "--descending",
    "--threads": "--workers",
    "--time-limit": "--budget",
    "--timeout": "--budget",
    "-j": "--workers",
    "-n": "--trials",
    "-o": "--out",
}
"""Names that other programs give to options, and ours."""
_VALUES = {
    "--add": "search.sampler=tpe",
    "--arch": "arch.yaml",
    "--budget": "60",
    "--csv": "trials.csv",
    "--data": "data.npz",
    "--einsum": "Q",
    "--executor": "dask",
    "--html": "page.html",
    "--json": "trials.json",
    "--mapping": "mapping.yaml",
    "--max-memory": "4e9",
    "--method": "exact",
    "--mirror": "sqlite:///study.db",
    "--operands": "operands.npz",
    "--out": "runs/first",
    "--parquet": "trials.parquet",
    "--refuse": "unwritten",
    "--report": "page.html",
    "--results": "results.npz",
    "--reuse": "runs/first",
    "--save": "mapping.yaml",
    "--set": "SCALE=8",
    "--study": "study.yaml",
    "--svg": "picture.svg",
    "--timeline": "timeline.json",
    "--uneven": "m,k",
    "--why-not": "Weights@Buffer",
    "--workload": "workload.yaml",
}
"""Values of options, where the help text of a command has no example with one."""
_EXAMPLE = re.compile(r"^ *(tilewright .*\S)", re.MULTILINE)


def with_advice(
    error: click.UsageError, context: click.Context, words: Sequence[str]
) -> click.UsageError:
    """Return the error of a command line with what to write instead, where that is known.

    It is known for options that other programs call otherwise, and for missing values. `context`:
    of the program; `words`: the command line behind its name.
    """
    context = error.ctx or _context_of_command(context, words)
    advice = _taken(error, context.command, words) or _advice(error, context.command)
    if advice is None:
        return error
    message = error.message if isinstance(error, click.NoSuchOption) else error.format_message()
    return click.UsageError(f"{message} {advice}", context)


def _context_of_command(context: click.Context, words: Sequence[str]) -> click.Context:
    """Return a context of the command that a line names, as click does not for each error."""
    for word in words:
        if not isinstance(context.command, click.Group) or word not in context.command.commands:
            break
        inner = context.command.commands[word]
        context = click.Context(inner, parent=context, info_name=word)
    return context


def _taken(error: click.UsageError, command: click.Command, words: Sequence[str]) -> str | None:
    """Return what to write where an option without a value took a missing one's name for it."""
    if not isinstance(error, click.MissingParameter) or error.param is None:
        return None
    for name, word in pairwise(words):
        option = _option(command, name)
        if option is not None and not option.is_flag and word in error.param.opts:
            return f"{name} took {word} for its value. Write {_written(command, option)}."
    return None


def _advice(error: click.UsageError, command: click.Command) -> str | None:
    if isinstance(error, click.NoSuchOption):
        option = _option(command, OTHER_NAMES.get(error.option_name, ""))
        return None if option is None else f"Write {_written(command, option)}."
    if isinstance(error, click.BadOptionUsage):
        option = _option(command, error.option_name)
        takes_value = option is not None and not option.is_flag
        return f"Write {_written(command, option)}." if option and takes_value else None
    if isinstance(error, click.MissingParameter):
        examples = list(_examples(command))
        if isinstance(error.param, click.Option) and not examples:
            return f"Write {_written(command, error.param)}."
        return f"Write, for example, {examples[0]}" if examples else None
    return None


def _option(command: click.Command, name: str) -> click.Option | None:
    options = (each for each in command.params if isinstance(each, click.Option))
    return next((option for option in options if name in option.opts), None)


def _written(command: click.Command, option: click.Option) -> str:
    """Return an option as a user writes it, with an example of its value if it takes one."""
    name = max(option.opts, key=len)
    return name if option.is_flag else f"{name} {value_example(command, option)}"


def value_example(command: click.Command, option: click.Option) -> str:
    """Return a value that an option of a command could have."""
    name = max(option.opts, key=len)
    for example in _examples(command):
        value = re.search(rf"{name} ('[^']*'|\"[^\"]*\"|\S+)", example)
        if value:
            return value[1]
    if name in _VALUES:
        return _VALUES[name]
    if isinstance(option.type, click.Choice):
        return str(option.type.choices[0])
    if isinstance(option.type, click.IntRange | click.FloatRange):
        return f"{max(option.type.min or 0, 1):g}"
    return option.make_metavar(click.Context(command))


def _examples(command: click.Command) -> Iterator[str]:
    """Yield the command lines in the help text of a command."""
    for example in _EXAMPLE.finditer(command.help or ""):
        yield example[1]
