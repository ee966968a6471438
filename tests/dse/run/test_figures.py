"""Expressions over metrics: limits, names, units."""

from __future__ import annotations

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.run.figures import (
    check_figure,
    check_names,
    is_plain_name,
    names_of,
    nested,
    parse_constraint,
    uses_base,
    value_of,
)

METRICS = {"energy": 2.0, "latency": 3.0, "usage.Buffer": 0.5, "bert.energy": 1.0}


@pytest.mark.parametrize(
    ("text", "excess"),
    [
        ("energy <= 1.5", 0.5),
        ("energy >= 1.5", -0.5),
        ("1.5 >= energy", 0.5),
        ("energy * latency <= 1.2 * base.energy", 6.0 - 4.8),
        ("usage.Buffer <= 0.25", 0.25),
    ],
)
def test_a_limit_says_by_how_much_it_is_exceeded(text, excess):
    names = names_of(METRICS, {"energy": 4.0})
    assert parse_constraint(text).excess(names) == pytest.approx(excess)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("energy ** 1e9", "at most 16"),
        ("(energy * latency)**17 <= 1", "at most 16"),
        ("log(0)", "of no metric"),
        ("1 <= 2", "of no metric"),
        ("energy <= watts", "no metric watts"),
        ("energy <= 1.2 * base.energy", "the study has none"),
        ("0 * energy", "cancels out"),
        ("energy * latency / (latency * energy) + 2", "cancels out"),
        ("energy**0", "cancels out"),
        ("usage.A - usage.A <= 1", "cancels out"),
        ("energy <= energy + 3", "cancels out"),
    ],
)
def test_what_is_the_same_for_every_design_is_no_figure(text, words):
    with pytest.raises(SpecError, match=words):
        check_figure(text, ("energy", "latency", "usage"))


@pytest.mark.parametrize(
    "text",
    [
        "energy",
        "latency <= 2**20",
        "energy**16 / latency <= 1e6**20",
        "energy + 1e3",
        "0 * energy + latency",
        "max(energy - 1e30, 0)",
        "usage.A / base.usage.A",
        "energy <= 1 pJ",
        "energy * latency <= 0 * latency",
    ],
)
def test_figures_with_numbers_of_all_kinds(text):
    check_figure(text, ("energy", "latency", "usage", "base"))


@pytest.mark.parametrize("text", ["energy < 1", "energy == 1", "energy", "0 <= energy <= 1"])
def test_a_limit_has_one_sign(text):
    with pytest.raises(SpecError, match="a limit compares two sides by <= or >="):
        parse_constraint(text)


def test_a_limit_of_another_unit_is_refused_on_either_side():
    assert parse_constraint("energy <= 3 pJ").excess({"energy": 4e-12}) == pytest.approx(1e-12)
    with pytest.raises(SpecError, match="energy is not measured in s"):
        parse_constraint("energy <= 3 s")
    with pytest.raises(SpecError, match=r"bert\.latency is not measured in pJ"):
        parse_constraint("3 pJ >= bert.latency")


def test_dotted_names_are_mappings_and_expressions_stay_out():
    assert nested({**METRICS, "energy * 2": 4.0}) == {
        "energy": 2.0,
        "latency": 3.0,
        "usage": {"Buffer": 0.5},
        "bert": {"energy": 1.0},
    }


def test_a_name_that_is_both_a_number_and_a_mapping_keeps_the_first():
    assert nested({"a": 1.0, "a.b": 2.0}) == {"a": 1.0}
    assert nested({"a.b": 2.0, "a": 1.0}) == {"a": {"b": 2.0}}


def test_plain_names():
    assert all(map(is_plain_name, ["energy", "usage.Buffer", "_x1"]))
    assert not any(map(is_plain_name, ["", "a.", ".a", "a b", "2a", "energy * 2", "a\n"]))


def test_an_unknown_name_is_refused_with_a_close_one():
    assert check_names("energy + usage.Buffer", ["energy", "usage"]) == {"energy", "usage"}
    with pytest.raises(SpecError) as caught:
        check_names("enrgy", ["energy", "latency"])
    assert "energy" in (caught.value.instead or "")


def test_the_base_is_seen_in_expressions_only():
    assert uses_base("1.2 * base.area")
    assert not uses_base("basement + 1")


@pytest.mark.parametrize(
    "text", ["energy / 0", "energy > 1", "1e308 * 10 * energy", "'a'", "usage"]
)
def test_only_finite_numbers_are_values(text):
    with pytest.raises(SpecError):
        value_of(text, nested(METRICS))
