"""Objectives as expressions: what is accepted never falls; what is refused says what to write."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.searches.objective.objective_formula import ObjectiveError, formula_of

MEMORIES = ("GlobalBuffer", "L 1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("energy * latency**2", 18.0),
        ("energy + 1e3 * latency", 3002.0),
        ("max(energy / 1e-3, latency / 1e-6)", 3e6),
        ("min(energy, latency, 2.5)", 2.0),
        ("edp * usage.GlobalBuffer", 30.0),
        ("usage['L 1'] - -1", 8.0),
        ("sum(usage[m] for m in usage)", 12.0),
        ("sqrt(energy * 8) + log1p(0 * latency)", 4.0),
        ("pow(energy, 0.5) ** 2 + abs(latency)", 5.0),
        ("exp(0 * energy) + (7 - 4) * energy / 2", 4.0),
    ],
)
def test_formulas_have_their_values(text: str, value: float) -> None:
    formula = formula_of(text, MEMORIES)
    bits = [{"GlobalBuffer": 5.0, "L 1": 7.0}[name] for name in formula.memories]
    assert formula.of_row(2.0, 3.0, *bits) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("energy - latency", "subtracting a metric"),
        ("1 - energy", "subtracting a metric"),
        ("energy - 1", "subtracting a number"),
        ("-energy", "minus a metric"),
        ("energy / latency", "dividing by a metric"),
        ("1 / energy", "dividing by a metric"),
        ("energy / 0", "not positive"),
        ("energy * -2", "negative number"),
        ("max(energy, -1)", "negative number"),
        ("energy ** -1", "not positive"),
        ("2 ** energy", "does not apply"),
        ("energy ** latency", "does not apply"),
        ("inf * energy", "only finite"),
        ("log(energy)", "may be negative"),
        ("energy // 2", "may fall"),
        ("energy % 2", "may fall"),
        ("energy if energy > 1 else 2", "may fall"),
        ("energy and latency", "may fall"),
        ("not energy", "may fall"),
        ("energy == latency", "may fall"),
        ("round(energy)", "does not apply"),
        ("3", "depends on no metric"),
        ("usage", "depends on no metric"),
        ("usage.GlobalBufer", "there is no GlobalBufer"),
        ("speed", "nothing is called speed"),
        ("energy +", "not an expression"),
        ("__import__('os')", "not allowed"),
        ("energy.__class__", "not allowed"),
        ("(" * 60 + "energy" + ")" * 60 + "+" * 3000, "characters"),
    ],
)
def test_others_are_refused_with_what_to_write(text: str, what: str) -> None:
    with pytest.raises(ObjectiveError, match=what) as caught:
        formula_of(text, MEMORIES)
    assert isinstance(caught.value, TilewrightError)
    assert caught.value.instead


@st.composite
def formulas(draw: st.DrawFn, depth: int = 3) -> str:
    """Texts of the grammar, some of which are refused."""
    leaf = st.sampled_from(["energy", "latency", "edp", "usage.GlobalBuffer", "2", "0.5", "1e-9"])
    if depth == 0:
        return draw(leaf)
    one, two = draw(formulas(depth - 1)), draw(formulas(depth - 1))
    shapes = [
        f"({one} + {two})", f"({one} * {two})", f"({one} - {two})", f"({one} / {two})",
        f"max({one}, {two})", f"min({one}, {two})", f"sqrt({one})", f"log1p({one})",
        f"({one}) ** {draw(st.sampled_from(['2', '0.5', '-1', '1 / 3']))}", one,
    ]  # fmt: skip
    return draw(st.sampled_from(shapes))


numbers = st.floats(0, 1e6, allow_nan=False)


@settings(max_examples=20, deadline=None)
@given(formulas(), st.tuples(numbers, numbers, numbers), st.tuples(numbers, numbers, numbers))
def test_what_is_accepted_never_falls(
    text: str, one: tuple[float, ...], two: tuple[float, ...]
) -> None:
    try:
        formula = formula_of(text, ["GlobalBuffer"])
    except ObjectiveError:
        return
    width = 2 + len(formula.memories)
    low, high = np.minimum(one, two)[:width], np.maximum(one, two)[:width]
    small, large = formula.value(np.array([low, high]))
    assert small >= 0
    assert small <= large * (1 + 1e-12)
