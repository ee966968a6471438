"""Commands that are imported only when somebody runs them or asks for their help."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click


class LazyCommands(UserDict[str, Any]):
    """The commands of a group by name, each imported when it is looked up first.

    `homes`: for each name where the command is, as `package.module:name`; `prepare`: called once
    with each command that was imported.
    """

    def __init__(self, homes: Mapping[str, str], prepare: Callable[[click.Command], None]) -> None:
        super().__init__(homes)
        self._prepare = prepare

    def __getitem__(self, name: str) -> click.Command:
        """Return a command; KeyError if there is none of that name."""
        home = self.data[name]
        if isinstance(home, click.Command):
            return home
        module, _, attribute = home.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        self._prepare(command)
        self.data[name] = command
        return command
