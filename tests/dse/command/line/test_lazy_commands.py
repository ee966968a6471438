"""Commands are imported when they are looked up, once each."""

from __future__ import annotations

import sys

import click
import pytest

from tilewright.dse.command.line.lazy_commands import LazyCommands


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Two commands of a module that is not imported yet, and the names of those prepared."""
    (tmp_path / "late_module.py").write_text(
        "import click\n"
        "@click.command('first')\ndef first(): click.echo('said')\n"
        "@click.command('second')\ndef second(): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "late_module", raising=False)
    prepared: list[str | None] = []
    homes = {"first": "late_module:first", "second": "late_module:second"}
    return LazyCommands(homes, lambda command: prepared.append(command.name)), prepared


def test_names_are_known_before_anything_is_imported(commands):
    table, prepared = commands
    assert sorted(click.Group(commands=table).list_commands(None)) == ["first", "second"]
    assert "first" in table
    assert "third" not in table
    assert table.get("third") is None
    assert "late_module" not in sys.modules
    assert prepared == []


def test_a_command_is_imported_and_prepared_once(commands):
    table, prepared = commands
    assert table["first"] is table["first"]
    assert "late_module" in sys.modules
    assert prepared == ["first"]
    assert [command.name for command in table.values()] == ["first", "second"]
    with pytest.raises(KeyError):
        table["third"]
