"""What the commands share: options, settings, and where words go.

Standard output carries the answer (with --json: one JSON document and nothing else); messages,
progress and errors go to standard error.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from tilewright.arch.errors import SpecError, TilewrightError, Where, lacks_memory
from tilewright.dse.command.line.usage_advice import with_advice

F = TypeVar("F", bound=Callable[..., object])
Setting = bool | int | float | str
_WORDS = "tilewright.words"  # of the command line, in the context of the program
_PASSWORD = re.compile(r"(://[^/:@\s]*):[^/@\s]*@")

SETTINGS_HELP = (
    "Set a variable of the files (--set SCALE=8) or a field of a component (--set Buffer.size=64)."
    " May be repeated."
)


def settings_option(help_text: str = SETTINGS_HELP) -> Callable[[F], F]:
    """Return a click decorator that adds the option --set KEY=VALUE, which may be repeated."""
    return click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help=help_text)


def files_option(
    name: str, description: str, *, required: bool = True, shell_complete: Any = None
) -> Callable[[F], F]:
    """Return a click decorator that adds the option --NAME FILE to a command.

    `name`: NAME; `description`: what the file is; `shell_complete`: what a shell offers, as click
    takes it. Repeated, its files are read as one.
    """
    text = f"{description} file, or the name of a shipped one. Repeated, the files are read as one."
    return click.option(
        f"--{name}", multiple=True, required=required, metavar="FILE", help=text,
        shell_complete=shell_complete,
    )  # fmt: skip


def json_option() -> Callable[[F], F]:
    """Return a click decorator that adds the flag --json to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def parse_settings(items: Iterable[str]) -> dict[str, Setting]:
    """Return the items KEY=VALUE of --set as a dictionary, with values read as YAML reads them.

    Raises SpecError for an item without key or `=`.
    """
    settings: dict[str, Setting] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key.strip():
            raise SpecError(
                "--set takes KEY=VALUE",
                where=Where("command line"),
                value=item,
                instead="--set N=4",
            )
        settings[key.strip()] = _scalar(text.strip(), item)
    return settings


def parse_lists(items: Iterable[str], option: str) -> dict[str, Any]:
    """Return items KEY=VALUE as `parse_settings` does; a value may be a YAML list or mapping, too.

    `option`: whose they are, for errors. Raises SpecError for an item without key or `=`, or a list
    or mapping that is none.
    """
    from tilewright.arch.files.source import load_document

    settings: dict[str, Any] = dict(parse_settings(items))
    for key, value in settings.items():
        if isinstance(value, str) and value.startswith(("[", "{")):
            settings[key] = load_document(option, text=value).data
    return settings


def _scalar(text: str, item: str) -> Setting:
    from tilewright.arch.files.scalars import plain_scalar

    try:
        value = plain_scalar(text)
    except ValueError as error:
        raise SpecError(f"--set: {error}", where=Where("command line"), value=item) from None
    return text if value is None else value


def without_password(text: str) -> str:
    """Return a text in which URLs have `***` for the password: what is kept may be shared."""
    return _PASSWORD.sub(r"\1:***@", text)


def say(message: str) -> None:
    """Print a message for the user, on standard error; where that is closed, do nothing."""
    with suppress(OSError, ValueError):
        click.echo(message.encode("utf-8", "backslashreplace").decode("utf-8"), err=True)


def emit(document: object) -> None:
    """Print the JSON document of a command on standard output.

    Fractions and arrays become plain numbers and lists, infinite numbers and NaN become null;
    TypeError for what has no JSON form.
    """
    try:
        text = json.dumps(
            document, indent=2, ensure_ascii=False, default=_plain, allow_nan=False
        )  # fmt: skip
    except ValueError:
        loose = json.dumps(document, ensure_ascii=False, default=_plain)
        finite = json.loads(loose, parse_constant=lambda _: None)
        text = json.dumps(finite, indent=2, ensure_ascii=False)
    click.echo(text)


def _plain(value: Any) -> object:
    from fractions import Fraction

    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


class OutputClosed(Exception):  # noqa: N818 (no error of ours)
    """The reader of our output has gone, as `head` does."""


class Commands(click.Group):
    """A group of commands in which an error of the user ends with one message."""

    def parse_args(self, context: click.Context, words: list[str]) -> list[str]:
        """Keep the words of the command line for errors, and parse them."""
        context.meta[_WORDS] = tuple(words)
        return super().parse_args(context, words)

    def invoke(self, context: click.Context) -> Any:
        """Run the command; print a TilewrightError or OSError and exit with its code.

        A mistake in the command line is said with what to write instead. The code of a
        TilewrightError is its `exit_code`, that of an OSError is 2, or 4 if the
        system has no room, memory or processes left.
        """
        try:
            return super().invoke(context)
        except click.UsageError as error:
            raise with_advice(error, context, context.meta[_WORDS]) from None
        except TilewrightError as error:
            say(f"error: {error}")
            context.exit(error.exit_code)
        except BrokenPipeError as error:
            raise OutputClosed from error  # click would end with exit code 1
        except OSError as error:
            if lacks_memory(error):
                raise MemoryError from error
            say(f"error: {os_error_text(error)}")
            context.exit(exit_code_of(error))


_OF_THE_SYSTEM = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EAGAIN, errno.EMFILE,
                  errno.EFBIG)  # fmt: skip


def exit_code_of(error: OSError) -> int:
    """Return the exit code for what the system refused: 4 if it has nothing left, else 2."""
    return 4 if error.errno in _OF_THE_SYSTEM else 2


def os_error_text(error: OSError) -> str:
    """Return what the system refused: the reason, and the path if the error has one."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{reason}: {error.filename}" if error.filename else reason


def check_writable(path: Path) -> None:
    """Raise OSError if no file can be written at `path`; an existing file is left as it is."""
    existed = path.exists()
    with path.open("ab"):
        pass
    if not existed:
        path.unlink()


def given_option(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> str | None:
    """Return the first of some options, as it is written, that is not at its default.

    options: values by name; defaults: those of the options that count. None if all are.
    """
    given = (n for n, default in defaults.items() if options.get(n) and options[n] != default)
    name = next(given, None)
    return None if name is None else f"--{name.replace('_', '-')}"
