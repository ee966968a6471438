"""What tiles span inside a padded rank, against walks of all positions."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tilewright.mapper.model.traffic.padded_spans import (
    Cut,
    Spanned,
    share_of_points,
    spanned_by_cuts,
    zeros_counted,
)
from tilewright.mapper.workload.einsum import Affine, Einsum, TensorAccess


def tiles(cut: Cut) -> list[tuple[int, int]]:
    """Return (first, last) of each tile, by cutting one period after the other."""
    found = []
    for start in range(0, cut.bound, cut.period):
        end = start + cut.period
        found += [(x, min(x + cut.tile, end) - 1) for x in range(start, end, cut.tile)]
    return found


def walked(form: Affine, size: int, cuts: tuple[Cut, ...]) -> Spanned:
    inside = everything = 0
    for chosen in product(*map(tiles, cuts)):
        terms = zip(form.terms, chosen, strict=True)
        ends = [sorted((factor * first, factor * last)) for (_, factor), (first, last) in terms]
        low = form.constant + sum(end[0] for end in ends)
        high = form.constant + sum(end[1] for end in ends)
        everything += high - low + 1
        inside += sum(0 <= x < size for x in range(low, high + 1))
    return Spanned(inside, everything)


@pytest.mark.parametrize("block", range(4))
def test_spans_equal_those_of_a_walk(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        rng = random.Random(seed)
        names = "pqr"[: rng.randrange(4)]
        form = Affine(
            tuple((name, rng.choice((-2, -1, 1, 1, 2, 3))) for name in names),
            rng.randrange(-6, 7),
        )
        cuts = []
        for _ in names:
            period = rng.randrange(1, 7)
            cuts.append(Cut(period * rng.randrange(1, 4), period, rng.randrange(1, period + 1)))
        size = rng.randrange(1, 20)
        assert spanned_by_cuts(form, size, tuple(cuts)) == walked(form, size, tuple(cuts)), seed


@pytest.mark.parametrize(("tile", "inside", "spanned"), [(7, 16, 18), (1, 40, 42), (14, 14, 16)])
def test_the_example_of_the_theory(tile: int, inside: int, spanned: int) -> None:
    form, taps = Affine((("p", 1), ("r", 1)), -1), Cut(3, 3, 1 if tile == 1 else 3)
    assert spanned_by_cuts(form, 14, (Cut(14, 14, tile), taps)) == (inside, spanned)


def test_fewer_zeros_lie_in_tiles_than_in_points() -> None:
    """Z(t) <= max |a| Z(1): the bound of the search with uneven tiles (model.md §3.7)."""
    for seed in range(300):
        rng = random.Random(seed)
        form = Affine((("p", rng.choice((-2, 1, 2, 3))), ("r", rng.choice((1, 2)))), -3)
        bounds = [rng.randrange(1, 9), rng.randrange(1, 4)]
        size, most = rng.randrange(1, 16), max(abs(factor) for _, factor in form.terms)
        points = spanned_by_cuts(form, size, tuple(Cut(b, b, 1) for b in bounds))
        cuts = tuple(Cut(b, b, rng.randrange(1, b + 1)) for b in bounds)
        inside, spanned = spanned_by_cuts(form, size, cuts)
        assert spanned - inside <= most * (points.all - points.inside), seed


def test_a_rank_whose_variable_stands_in_another_is_not_clipped() -> None:
    window, alone = Affine((("p", 1), ("r", 1)), -1), Affine((("p", 1),), 0)
    access = TensorAccess("A", (("W", window), ("P", alone)), padded=(("W", 4),))
    assert access.clipped == ()
    access = TensorAccess("A", (("M", Affine((("m", 1),))), ("W", window)), padded=(("W", 4),))
    assert access.clipped == ((1, 4),)
    bounds = {"p": 4, "r": 3, "m": 2}
    assert share_of_points(access, bounds) * 12 == 10
    einsum = Einsum("Z", (access,), bounds, {})
    assert zeros_counted(einsum).accesses[0].clipped == ()
