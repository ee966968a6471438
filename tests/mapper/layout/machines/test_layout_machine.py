"""Machines as data."""

from pathlib import Path

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.machines.layout_machine import (
    changed_machine,
    load_machine,
    machine_file,
    machine_names,
)


def test_every_shipped_machine_loads_with_sources() -> None:
    names = machine_names()
    assert set(names) >= {"wormhole", "blackhole", "trainium1", "trainium2", "wse2", "wse3"}
    for name in names:
        machine = load_machine(name)
        assert machine.name == name
        assert machine.memories
        numbers = 2 + len(machine.rates)
        assert len(machine.sources) >= numbers
        assert all(machine.sources.values())


@pytest.mark.row("003.16")
def test_numbers_of_the_machines() -> None:
    """theory/layouts.md §8: the sources stand beside each number."""
    wormhole = load_machine("wormhole")
    assert wormhole.unit_count == 64
    assert wormhole.memories["l1"].unit_bytes == 1_499_136
    peak = wormhole.unit_count * 32**3 * 2 / wormhole.rates["tile_cycles_lofi"] * 1e9
    assert peak == pytest.approx(262.1e12, rel=1e-3)
    psum = load_machine("trainium1").memories["psum"].partitioned()
    assert psum is not None
    assert (psum.banks, psum.bank_bytes, psum.partitions) == (8, 2048, 128)
    assert load_machine("trainium2").sources["sbuf.bank_bytes"].startswith("assumed: ")


GOOD = """name: mine
units: {value: [2, 2], source: "me"}
formats: {value: [f32], source: "me"}
memories:
  l1:
    unit_bytes: {value: 100, source: "me"}
"""


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (', source: "me"}\nformats', "}\nformats", "units has no source"),
        ("value: [2, 2]", "value: [2, 0]", "units must be a whole number of 1 or more"),
        ("name: mine", "nam: mine", "the file has an unknown field 'nam'"),
        ("[f32]", "[f31]", "unknown number format"),
        ("unit_bytes", "bites", "l1 has an unknown field 'bites'"),
        ("  l1:", "  l9:", "memories has an unknown field 'l9'"),
        ('{value: 100, source: "me"}', "100", "l1.unit_bytes must be {value"),
    ],
)
def test_files_without_sources_or_with_unknown_fields_are_refused(
    tmp_path: Path, old: str, new: str, what: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    assert load_machine(str(path)).memories["l1"].unit_bytes == 100
    other = tmp_path / "other.yaml"
    other.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(SpecError, match=what):
        load_machine(str(other))


def test_an_unknown_machine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SpecError) as caught:
        load_machine("wormhole9")
    assert "blackhole" in (caught.value.instead or "")


def test_numbers_can_be_replaced_by_path() -> None:
    """The source then says that the number is a design's."""
    faster = changed_machine("wormhole", {"rates.clock_hz": 2e9, "memories.l1.unit_bytes": 1024})
    assert faster.rates["clock_hz"] == 2e9
    assert faster.memories["l1"].unit_bytes == 1024
    assert faster.sources["rates.clock_hz"] == "assumed: set by the design"
    assert load_machine("wormhole").rates["clock_hz"] == 1e9
    for path in ("rates.clock", "rates", "rates.clock_hz.value", "name"):
        with pytest.raises(SpecError, match="the machine has no number"):
            changed_machine("wormhole", {path: 1})


def test_a_machine_is_found_by_path_or_name(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    assert machine_file("mine.yaml", tmp_path) == tmp_path / "mine.yaml"
    assert machine_file("wormhole", tmp_path).name == "wormhole.yaml"
    with pytest.raises(SpecError, match="no machine 'wormhol'"):
        machine_file("wormhol")
