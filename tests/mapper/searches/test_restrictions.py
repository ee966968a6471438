"""The names of restrictions: short, unique, and the same in every output."""

from __future__ import annotations

import re

import pytest

from tilewright.mapper.searches import restrictions
from tilewright.mapper.searches.restrictions import (
    EINSUM_ORDER_FIXED,
    FUSION_THROUGH,
    KINDS,
    NOT_EXCHANGED_IN,
    PERFECT_FACTORS,
    RestrictionKind,
    names_of,
    only_for,
    scope_text,
    with_restrictions,
)

MANY = ("A", "B", "C", "D", "E")


def longest(kind: RestrictionKind) -> str:
    """Return the longest name of a kind: lists where it takes lists, for fused mappings only."""
    keys = re.findall(r"\{(\w+)\}", kind.pattern)
    given = {key: MANY if key.endswith("s") else "X" for key in keys}
    name = kind(**given).name
    return name if kind.concerns_fusion else only_for("unfused", kind(**given)).name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.pattern)
def test_a_name_has_at_most_twelve_words(kind: RestrictionKind) -> None:
    assert len(longest(kind).split()) <= 12
    assert "{" not in longest(kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.pattern)
def test_a_kind_is_explained_in_sentences(kind: RestrictionKind) -> None:
    for text in (kind.explanation, kind.example):
        assert text[0].isupper() or text[0].isdigit()
        assert text.endswith(".")
        assert "  " not in text


def test_names_are_unique_and_all_kinds_are_listed() -> None:
    patterns = [kind.pattern for kind in KINDS]
    assert len(set(patterns)) == len(patterns)
    defined = [each for each in vars(restrictions).values() if isinstance(each, RestrictionKind)]
    assert list(KINDS) == defined


def test_a_name_spells_out_three_names_of_a_list() -> None:
    assert FUSION_THROUGH(memories=["L2"]).name == "fusion through L2"
    assert FUSION_THROUGH(memories=MANY[:3]).name == "fusion through A, B, C"
    assert FUSION_THROUGH(memories=MANY).name == "fusion through A, B, +3 more"
    assert FUSION_THROUGH(memories=MANY).parameters == (("memories", MANY),)
    name = NOT_EXCHANGED_IN(tensor="Y", memories=["L1", "L0"]).name
    assert name == "Y not exchanged in L1, L0"


def test_a_claim_names_its_restrictions_or_says_that_there_are_none() -> None:
    both = (PERFECT_FACTORS(), EINSUM_ORDER_FIXED())
    assert names_of(both) == ["perfect factors", "Einsum order fixed"]
    assert scope_text(both) == "perfect factors; Einsum order fixed"
    said = "optimal in energy; restrictions: perfect factors; Einsum order fixed"
    assert with_restrictions("optimal in energy", both) == said
    assert scope_text(()) == "all mappings"
    assert with_restrictions("optimal in energy", ()) == "optimal in energy, without restriction"


def test_a_restriction_may_hold_for_fused_mappings_only() -> None:
    limited = only_for("fused", PERFECT_FACTORS())
    assert limited.name == "if fused: perfect factors"
    assert limited != PERFECT_FACTORS()
    assert limited == only_for("fused", PERFECT_FACTORS())
