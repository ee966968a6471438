"""Every row of the reference cases of modulo allocation: legal ones by address, others by rule."""

from __future__ import annotations

import json
import re
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import number_format
from tilewright.mapper.layout.schemes.modulo_allocation import BlockedTensor, ModuloAllocation

RULES = (  # text of a reference error, our rule
    (r"bank id out of", r"{space}\.bank"),
    (r"num_\w+ length|length \d+ != block rank|must be empty or equal", r"{space}\.counts-length"),
    (r"(num_\w+_tiles) must be \(\)", r"psum\.{0}"),
    (r"(base_addr|base_partition) must be 0", r"psum\.{0}"),
    (r"start_partition", r"{space}\.start-partition"),
    (r"exceeds \d+ partitions|partition.*out of", r"{space}\.partition"),
    (r"fdim|one bank|bank size|2048|2 ?KiB", r"{space}\.(bank-size|address)"),
    (r"byte|addr|usable|180224|exceed", r"{space}\.(address|bank-size)"),
)


def rows(shared_data: Path) -> list[dict[str, Any]]:
    text = (shared_data / "layouts" / "nki_mod_alloc_vectors.json").read_text(encoding="utf-8")
    loaded: list[dict[str, Any]] = json.loads(text)["vectors"]
    return loaded


def allocation(row: dict[str, Any]) -> tuple[ModuloAllocation, BlockedTensor]:
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in row["params"].items()
    }
    element = number_format(row["dtype"])
    tensor = BlockedTensor.of(
        (*row["block_shape"], row["pdim"], *row["free_shape"]), len(row["free_shape"]), element
    )
    return ModuloAllocation(space=row["space"], **values), tensor


def our_rule(error: str, space: str) -> str:
    for pattern, rule in RULES:
        found = re.search(pattern, error, re.IGNORECASE)
        if found:
            return rule.format(*found.groups(), space=space)
    raise AssertionError(f"no rule of ours is known for {error!r}")


def test_legal_rows_have_the_places_of_the_reference(shared_data: Path) -> None:
    legal = [row for row in rows(shared_data) if row["legal"]]
    assert legal
    for row in legal:
        chosen, tensor = allocation(row)
        assert tensor.free_bytes == row["fdim_bytes"], row["id"]
        assert chosen.broken_rules(tensor) == (), row["id"]
        check_places(row, chosen, tensor)


def check_places(row: dict[str, Any], chosen: ModuloAllocation, tensor: BlockedTensor) -> None:
    placement, function = chosen.place(tensor), chosen.function()
    for tile in row["tiles"]:
        place = placement.at(tile["idx"])
        assert place.bank == tile.get("bank", 0), row["id"]
        assert place.partition == tile["start_partition"], row["id"]
        assert place.address == tile["byte_addr"], row["id"]
        as_function = function(tile["idx"], row["pdim"], row["fdim_bytes"])
        assert as_function == (place.bank, place.partition, place.address), row["id"]
    if not row.get("tiles_truncated"):
        assert len(row["tiles"]) == prod(row["block_shape"]), row["id"]
    assert placement.physical_tiles == row["num_physical_tiles"], row["id"]
    assert placement.declared_tiles == row["declared_product"], row["id"]
    assert placement.max_consecutive_live() == row["max_consecutive_live_rowmajor"], row["id"]


def test_illegal_rows_break_the_rules_of_the_reference(shared_data: Path) -> None:
    illegal = [row for row in rows(shared_data) if not row["legal"]]
    assert illegal
    for row in illegal:
        chosen, tensor = allocation(row)
        broken = {rule.rule: rule for rule in chosen.broken_rules(tensor)}
        for error in row["errors"]:
            wanted = our_rule(error, row["space"])
            matching = [rule for name, rule in broken.items() if re.fullmatch(wanted, name)]
            assert matching, (row["id"], error, list(broken))
            assert matching[0].numbers, row["id"]
        if any(name.endswith("counts-length") for name in broken):
            with pytest.raises(SpecError, match="block dimensions"):
                chosen.place(tensor)
        else:
            check_places(row, chosen, tensor)


def test_every_row_says_whether_it_is_legal(shared_data: Path) -> None:
    for row in rows(shared_data):
        assert row["legal"] == (not row["errors"]), row["id"]
