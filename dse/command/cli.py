"""The command `tilewright`: its main function, and the list of all commands."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from types import ModuleType
from typing import NoReturn

import click

from tilewright.arch.errors import lacks_memory
from tilewright.dse.command.console import Commands, OutputClosed, exit_code_of, os_error_text, say
from tilewright.dse.command.line.lazy_commands import LazyCommands
from tilewright.dse.run.interrupts import ignore_from_now_on

_HELP = """Find good mappings of tensor workloads on accelerators, and accelerators worth building.

Every simulated candidate is executed on real numbers and checked against the Einsum's result
before it is scored.

\b
Start here:
  tilewright study list                      the studies that ship with it
  tilewright study run wafer_matvec          run one; the report is an HTML file
  tilewright arch list                       the architectures that ship; `workload list` too
  tilewright new arch my_chip                a file of yours to start from
  tilewright validate my_chip.yaml           check it
  tilewright map --arch A --workload W       the best mapping of a workload
  tilewright evaluate --arch A --workload W --mapping M
  tilewright execute --arch A --workload W --mapping M    run it on the machine, on numbers
  tilewright mapspace --arch A --workload W  what each constraint takes away
  tilewright layout "tensor<...>"            what a tensor layout allocates on each unit
  tilewright run PROGRAM                     run a program of the machine from its text

\b
Exit codes: 0 done, 2 bad input, 3 no feasible design, 4 the system has no room, memory or
workers left, 130 interrupted. A study can be resumed after 4 and 130.
"""


_COMMANDS = {
    "arch": "files.command_arch:arch_group",
    "completion": "line.command_completion:completion_command",
    "evaluate": "command_model:evaluate_command",
    "execute": "machine.command_execute:execute_command",
    "layout": "command_layout:layout_command",
    "map": "command_model:map_command",
    "mapspace": "command_mapspace:mapspace_command",
    "new": "files.command_new:new_group",
    "run": "machine.command_run:run_command",
    "simulate": "runs.command_simulate:simulate_command",
    "study": "command_study:study_group",
    "validate": "command_validate:validate_command",
    "workload": "files.command_workload:workload_group",
}


_HOMES = {name: f"tilewright.dse.command.{home}" for name, home in _COMMANDS.items()}
_VERSION = click.version_option(package_name="tilewright", prog_name="tilewright")


def _with_version(command: click.Command) -> None:
    """Add --version to a command and to all those below it."""
    _VERSION(command)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _with_version(inner)


@_VERSION
@click.group(
    cls=Commands,
    help=_HELP,
    commands=LazyCommands(_HOMES, _with_version),
    context_settings={"help_option_names": ["-h", "--help"]},
)
def cli() -> None:
    """Group the commands."""


def main() -> NoReturn:
    """Run the command line `tilewright` with the process's arguments and exit with its code."""
    _open_streams()
    gc.set_threshold(200_000)  # imports make no cycles worth looking for
    _use_no_plugins_of_pydantic()
    try:
        code = cli.main(prog_name="tilewright", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        _end_at_once(130)
    except (
        BrokenPipeError,
        OutputClosed,
    ):  # the reader of our output has gone; that is no error of ours
        for stream in (1, 2):
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        sys.exit(0)
    except Exception as error:
        _end_with(error)
    ignore_from_now_on()  # nothing is left but the end of the interpreter,
    gc.freeze()  # which need not look for cycles: a fifth of a short command
    sys.exit(code if isinstance(code, int) else 0)


def _use_no_plugins_of_pydantic() -> None:
    """Let pydantic build models without its plugins: 40 ms of a start, half of it imports alone."""
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__") == "__all__":
        loader = ModuleType("pydantic.plugin._loader")  # another name costs the imports, no more
        loader.get_plugins = tuple  # type: ignore[attr-defined]
        sys.modules.setdefault(loader.__name__, loader)


def _end_at_once(code: int) -> NoReturn:
    """Exit, without waiting for a compilation that goes on in a thread of its own."""
    from tilewright.arch.lean.background import is_busy

    if is_busy():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _open_streams() -> None:
    """Give a closed standard stream a place: else a file of a run could get its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _end_with(error: Exception) -> NoReturn:
    """Say what went wrong outside of the user's files, and exit."""
    if lacks_memory(error):
        say("error: this needs more memory than the system gives to this process")
        sys.exit(4)
    if isinstance(error, OSError):  # of our own output: /dev/full, a closed descriptor
        _end_of_output(error)
    _report_defect(error)
    sys.exit(1)


def _end_of_output(error: OSError) -> NoReturn:
    say(f"error: {os_error_text(error)}")
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the rest has no place
    sys.exit(exit_code_of(error))


def _report_defect(error: Exception) -> None:
    if os.environ.get("TILEWRIGHT_TRACEBACK"):
        import traceback

        traceback.print_exception(error)
    say(
        f"internal error: {type(error).__name__}: {error}\n"
        "This is a defect of Tilewright, not of your files; please report it with the command.\n"
        "TILEWRIGHT_TRACEBACK=1 shows where it happened."
    )
