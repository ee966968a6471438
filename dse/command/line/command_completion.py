"""The command `tilewright completion`: what makes a shell complete our commands."""

from __future__ import annotations

import os
from pathlib import Path

import click

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="Print what makes your shell complete these commands.")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def completion_command(context: click.Context, shell: str | None) -> None:
    """Print a script that makes a shell complete commands, options and names of shipped files.

    SHELL is that of the environment unless named.

    \b
    Examples:
      echo 'eval "$(tilewright completion bash)"' >> ~/.bashrc
      echo 'eval "$(tilewright completion zsh)"' >> ~/.zshrc
      tilewright completion fish > ~/.config/fish/completions/tilewright.fish
    """
    from click.shell_completion import get_completion_class

    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError(f"name the shell: {', '.join(SHELLS)}")
    kind = get_completion_class(name)
    assert kind is not None
    script = kind(context.find_root().command, {}, "tilewright", "_TILEWRIGHT_COMPLETE")
    click.echo(script.source())
