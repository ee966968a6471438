"""Print an architecture back as a file that reads to the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tilewright.arch.files.document import Tagged
from tilewright.arch.files.scalars import needs_quotes
from tilewright.arch.spec.architecture import Arch


def dump_arch(arch: Arch) -> str:
    """Return an architecture as YAML text that reads back to the same.

    Fields stand as written; templates and merge keys are resolved, and paths of cost tables are
    absolute.
    """
    top = arch.document.data
    assert isinstance(top, dict)
    block = {key: value for key, value in top["arch"].items() if key != "variables"}
    if "cost_tables" in block:
        block["cost_tables"] = _absolute(arch, block["cost_tables"])
    data: dict[str, object] = {}
    if arch.variables:
        data["variables"] = dict(arch.variables)
    data["arch"] = block
    return dump_yaml(data)


def _absolute(arch: Arch, entries: list[object]) -> list[object]:
    """Write the files of cost tables so that they are found from anywhere."""
    items: list[object] = []
    for index, entry in enumerate(entries):
        file = arch.document.where(("arch", "cost_tables", index)).file
        folder = Path(file).resolve().parent
        if isinstance(entry, dict):
            items.append({**entry, "file": str(folder / entry["file"])})
        else:
            items.append(str(folder / str(entry)))
    return items


def dump_yaml(data: object) -> str:
    """Return plain data, with `Tagged` values, as YAML text that reads back to equal data."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless)


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = '"' if needs_quotes(text) or not text.isprintable() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _tagged(dumper: _Dumper, value: Tagged) -> yaml.Node:
    tag = f"!{value.tag}"
    if isinstance(value.value, dict):
        return dumper.represent_mapping(tag, value.value)
    if isinstance(value.value, list):
        return dumper.represent_sequence(tag, value.value)
    return dumper.represent_scalar(tag, "" if value.value is None else str(value.value))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(Tagged, _tagged)
_Dumper.add_multi_representer(tuple, yaml.SafeDumper.represent_list)
