"""The command `tilewright layout`: what a layout allocates, and what a machine says to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright.dse.command.console import check_writable, emit, json_option, say

if TYPE_CHECKING:
    from tilewright.mapper.layout.layout import Layout
    from tilewright.mapper.layout.legality.broken_rule import BrokenRule
    from tilewright.mapper.layout.legality.sharding_rules import ShardingKind

MOST_CHARACTERS = 10_000


@click.command("layout", short_help="Shard shape, memory, padding and picture of a tensor layout.")
@click.argument("text", metavar='"tensor<...>"')
@click.option("--machine", default=None, metavar="NAME",
              help="Say which rules of this machine it breaks: wormhole, blackhole, trainium1, "
                   "trainium2, wse2, wse3, or a YAML file.")  # fmt: skip
@click.option("--kind", type=click.Choice(["height", "width", "block", "interleaved"]),
              default=None, help="And of this kind of sharding (needs --machine).")  # fmt: skip
@click.option("--svg", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Write a picture of the grid.")  # fmt: skip
@json_option()
def layout_command(
    text: str, machine: str | None, kind: ShardingKind | None, svg: Path | None, as_json: bool
) -> None:
    """Read a tensor type with a layout and say what it allocates on each unit.

    The text is that of the linear-map layout: shape, affine map, value of padding, grid, memref;
    or that of the aligned layout: device shape, logical shape, alignments, joined dimensions.
    A shard that does not follow from the rest is an error. `-` reads standard input. On a machine
    the cells are its units: a grid wider than the machine is wrapped, row-major.

    \b
    Examples:
      tilewright layout "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>,
                         memref<18x32xf32, #tt.memory_space<l1>>>>"
      tilewright layout "$(cat layout.mlir)" --machine wormhole --svg layout.svg
    """
    from tilewright.mapper.layout.queries.character_picture import character_picture
    from tilewright.mapper.layout.queries.explanation import explain
    from tilewright.mapper.layout.text.tensor_type import parse_tensor_type

    if svg is not None:
        check_writable(svg)
    tensor = parse_tensor_type(sys.stdin.read(MOST_CHARACTERS) if text == "-" else text)
    layout = _mapped(tensor.layout, machine)
    broken = _broken(layout, machine, kind)
    if as_json:
        emit({"layout": str(tensor), **_facts(layout), "broken_rules": _rows(broken)})
    else:
        click.echo(explain(layout))
        click.echo(character_picture(layout))
        if machine is not None:
            lines = [f"  {rule}" for rule in broken] or ["  every rule holds"]
            click.echo("\n".join([f"on {machine}:", *lines]))
    if svg is not None:
        from tilewright.mapper.layout.queries.picture import layout_picture

        svg.write_text(layout_picture(layout), encoding="utf-8")
        say(f"picture: {svg}")


def _mapped(layout: Layout, machine: str | None) -> Layout:
    """Return the layout on the units of the machine: the text has no map of its own."""
    if machine is None:
        return layout
    from tilewright.mapper.layout.machines.layout_machine import load_machine
    from tilewright.mapper.layout.machines.on_machine import on_machine

    return on_machine(layout, load_machine(machine))


def _broken(
    layout: Layout, machine: str | None, kind: ShardingKind | None
) -> tuple[BrokenRule, ...]:
    if machine is None:
        if kind is not None:
            raise click.UsageError("--kind needs --machine")
        return ()
    from tilewright.mapper.layout.legality.layout_rules import broken_rules
    from tilewright.mapper.layout.legality.sharding_rules import broken_sharding_rules
    from tilewright.mapper.layout.machines.layout_machine import load_machine

    loaded = load_machine(machine)
    of_kind = broken_sharding_rules(layout, kind, loaded) if kind else ()
    return (*broken_rules(layout, loaded), *of_kind)


def _facts(layout: Layout) -> dict[str, object]:
    return {
        "grid": layout.grid,
        "extents": layout.collapse.extents,
        "shard_shape": layout.shard_shape,
        "shard_tiles": layout.shard_tiles,
        "tile_bytes": layout.tiling.tile_bytes,
        "bytes_per_unit": layout.bytes_per_unit,
        "strides": layout.strides,
        "padding": layout.padding_total,
        "allocated": layout.allocated_scalars,
        "phantom_cells": layout.phantom_cells,
        "memory": layout.memory,
    }


def _rows(broken: tuple[BrokenRule, ...]) -> list[dict[str, object]]:
    return [
        {
            "rule": rule.rule,
            "what": rule.what,
            "numbers": dict(rule.numbers),
            "instead": rule.instead,
        }
        for rule in broken
    ]
