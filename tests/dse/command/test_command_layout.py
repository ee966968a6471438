"""The command `tilewright layout`."""

import json
from pathlib import Path

from click.testing import CliRunner

from tilewright.dse.command.cli import cli

TEXT = (
    "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
    "memref<1x1x!tt.tile<32 x 32, bfp_bf8>, #tt.memory_space<l1>>>>"
)


def test_it_prints_shard_memory_padding_and_a_picture() -> None:
    result = CliRunner().invoke(cli, ["layout", TEXT])
    assert result.exit_code == 0, result.output
    assert "shard      18 × 32 scalars" in result.stdout
    assert "1024 bytes per unit" in result.stdout
    assert "padding    2805 of 6144 allocated scalars" in result.stdout
    assert result.stdout.endswith("  ▒▒\n  ▒▒\n  ▒▒\n")


def test_machine_json_and_svg(tmp_path: Path) -> None:
    picture = tmp_path / "grid.svg"
    options = ["layout", "-", "--machine", "wormhole", "--json", "--svg", str(picture)]
    result = CliRunner().invoke(cli, options, input=TEXT)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["shard_tiles"] == [1, 1]
    assert document["bytes_per_unit"] == 1024
    assert [rule["rule"] for rule in document["broken_rules"]] == ["uneven"]
    assert picture.read_text().startswith("<svg")


def test_a_wrong_memref_is_an_error() -> None:
    result = CliRunner().invoke(cli, ["layout", TEXT.replace("1x1x!", "1x2x!")])
    assert result.exit_code == 2
    assert "instead: 1x1" in result.stderr
    none = CliRunner().invoke(cli, ["layout", TEXT, "--machine", "wormhole"])
    assert "on wormhole:\n  uneven: " in none.stdout


def test_a_kind_of_sharding_has_rules_of_its_own() -> None:
    options = ["layout", TEXT, "--machine", "wormhole", "--kind"]
    height = CliRunner().invoke(cli, [*options, "height"])
    assert "kind-grid: each shard of a height sharding has all columns" in height.stdout
    assert "kind-grid" not in CliRunner().invoke(cli, [*options, "block"]).stdout
    alone = CliRunner().invoke(cli, ["layout", TEXT, "--kind", "block"])
    assert alone.exit_code == 2
    assert "--kind needs --machine" in alone.stderr


def test_a_grid_wider_than_the_machine_is_wrapped() -> None:
    """1 × 64 cells on 8 × 8 units: width sharding breaks no rule; 65 cells do."""
    wide = (
        "tensor<32x2048xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <1x64>, "
        "memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>>"
    )
    options = ["--machine", "wormhole", "--kind", "width"]
    result = CliRunner().invoke(cli, ["layout", wide, *options])
    assert "map        64 cells on 64 of 64 units" in result.stdout
    assert "every rule holds" in result.stdout
    more = CliRunner().invoke(
        cli, ["layout", wide.replace("2048", "2080").replace("1x64", "1x65"), *options]
    )
    assert "units: units (1, 65) of the layout do not fit the (1, 8, 8)" in more.stdout
