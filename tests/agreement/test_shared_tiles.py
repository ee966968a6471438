"""Einsums that share loops and see a tensor in different widths, against every fused mapping."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from compared import OBJECTIVES, found_alike
from explore import at_night, enough
from fused_cases import random_wide_case, two_memories, workload_of
from fused_owns import Subject

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fusion.boundary.shared_tiles import LoopTiles, Saving, SeparateTiles
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.workload.workload import Workload

# an input of the first Einsum that is a weight of the second one, held above what they share
FALLING = ("Y[m, n] = A[m] * B[n]", "Z[m, n] = Y[m, n] * A[m]")
RISING = ("Y[m, n] = C[m] * A[m]", "Z[m, n] = A[m] * Y[m, n]")


def design(size: int, widths: tuple[int, int, int]) -> Arch:
    bits = dict(zip(("input", "output", "weight"), widths, strict=True))
    return two_memories(size).with_values({"BUF.bits_per_value": bits})


def check(arch: Arch, workload: Workload, objective: str, limit: int = 200_000) -> bool:
    return found_alike(Subject(arch, workload, "accelforge"), objective, limit)


@pytest.mark.parametrize("size", [8, *at_night(10)])
@pytest.mark.parametrize(("texts", "widths"), [(FALLING, (4, 1, 1)), (RISING, (1, 2, 4))])
def test_tiles_of_their_own_in_two_widths(
    size: int, texts: tuple[str, ...], widths: tuple[int, int, int]
) -> None:
    assert check(design(size, widths), workload_of(texts, {"m": 2, "n": 3}), "energy")


def test_the_widths_in_which_earlier_einsums_saw_a_tile_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without_earlier(
        self: SeparateTiles, following: SeparateTiles, shared_loops: int, below: LoopTiles
    ) -> Iterator[Saving]:
        for saving in savings(self, following, shared_loops, below):
            yield saving._replace(finished=0 * saving.finished)

    savings = SeparateTiles.savings
    monkeypatch.setattr(SeparateTiles, "savings", without_earlier)
    arch, workload = design(10, (4, 1, 1)), workload_of(FALLING, {"m": 2, "n": 3})
    with pytest.raises(InternalError, match="refused by the model"):
        fused_search(arch, workload, conventions="accelforge")


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_tiles_of_their_own_in_several_widths_of_many(block: int) -> None:
    done = [
        check(*random_wide_case(seed)[:2], OBJECTIVES[seed % 3], 60_000)
        for seed in range(5000 + block * 10, 5010 + block * 10)
    ]
    assert enough(sum(done), 4)
