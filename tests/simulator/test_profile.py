"""Profiles: every number has a source, every field can change, broken files are named."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tilewright.simulator.isa.machine_errors import ProfileError
from tilewright.simulator.isa.operations import OPERATIONS
from tilewright.simulator.profiles.profile import FOLDER, load_profile

NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.row("000.91")
@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_a_source(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert all(profile.sources[f"operations.{operation}"] for operation in OPERATIONS)
    assert len(profile.sources) >= 30
    assert all(len(source) > 3 for source in profile.sources.values())


def test_queue_depths_follow_the_documentation() -> None:
    wse2, wse3 = load_profile("wse2-sdk-sim"), load_profile("wse3-sdk-sim")
    assert wse2.input_queue_words == (6, 6, 4, 4, 2, 2, 2, 2)
    assert wse2.output_queue_words == (2, 2, 6, 6, 2, 2)
    assert wse3.input_queue_words == (8, 8, 4, 4, 4, 4, 4, 4)
    assert wse3.output_queue_words == (8,) * 8


def test_fields_can_be_changed() -> None:
    changed = load_profile("wse3-sdk-sim").with_values(
        {"hop_cycles": 3, "operations.fmacs.group": 2, "cycles_per_wavelet": "9/8"}
    )
    assert changed.hop_cycles == 3
    assert changed.operations["fmacs"].per_element(2) == Fraction(1, 2)
    assert changed.cycles_per_wavelet == Fraction(9, 8)
    assert changed.sources["hop_cycles"] == "changed by the study"
    assert load_profile("wse3-sdk-sim").hop_cycles == 2


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"hop_cycle": 1}, "unknown profile field"),
        ({"hop_cycles": 0}, "hop_cycles is not a whole number from 1 on"),
        ({"hop_cycles": 1.5}, "hop_cycles is not a whole number from 1 on"),
        ({"colors": 33}, "colors is above 32, the most that the engine holds"),
        ({"cycles_per_wavelet": "1/2"}, "cycles_per_wavelet is below 1"),
        ({"clock_hz": "fast"}, "clock_hz is not a number"),
        ({"operations.fmacs.speed": 1}, "unknown profile field"),
    ],
)
def test_wrong_changes_are_refused(changes: dict[str, object], text: str) -> None:
    with pytest.raises(ProfileError) as caught:
        load_profile("generic").with_values(changes)
    assert caught.value.what == text


def test_unknown_name_lists_the_shipped_ones() -> None:
    with pytest.raises(ProfileError) as caught:
        load_profile("wse4")
    assert caught.value.instead == ", ".join(NAMES)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("hop_cycles: {value: 1,", "hops: {value: 1,", "unknown profile field"),
        ("hop_cycles: {value: 1,", "hop_cycles: {value: x,", "hop_cycles is not a whole number"),
        ("    group: 4\n", "    group: 0\n", "group is not a whole number from 1 on"),
    ],
)
def test_broken_files_name_the_place(tmp_path: Path, old: str, new: str, text: str) -> None:
    source = (FOLDER / "generic.yaml").read_text()
    assert old in source
    broken = tmp_path / "broken.yaml"
    broken.write_text(source.replace(old, new, 1))
    with pytest.raises(ProfileError, match=text) as caught:
        load_profile(broken)
    assert caught.value.where is not None
    assert caught.value.where.file.endswith("broken.yaml")
    assert caught.value.where.line is not None


def test_number_without_a_source_is_refused(tmp_path: Path) -> None:
    lines = (FOLDER / "generic.yaml").read_text().splitlines()
    lines = ["hop_cycles: {value: 1}" if x.startswith("hop_cycles") else x for x in lines]
    path = tmp_path / "bare.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(ProfileError, match="a number needs `source:` or `assumed:` beside it"):
        load_profile(path)
