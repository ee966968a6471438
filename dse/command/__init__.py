"""The command line `tilewright`: one file per command or group of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.dse.command.cli import main

__all__ = ["main"]

__getattr__, __dir__ = lazily(__name__, {"main": "tilewright.dse.command.cli"})
