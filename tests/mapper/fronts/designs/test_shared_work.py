"""A search for many designs ends where a search of each takes less."""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fronts.designs import shared_work
from tilewright.mapper.fronts.designs.design_fronts import design_fronts
from tilewright.mapper.fronts.designs.design_range import DesignRange
from tilewright.mapper.fronts.designs.shared_work import SharedWork
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.request import request_of

ARCH = arch_text(
    memory("DRAM", "inf", "keep: All", (40, 2)),
    memory("BUF", 800, "may_keep: All", (1, 8)),
    mac(0.5),
)
PRODUCT = """\
workload:
  rank_sizes: {M: 4, K: 6, N: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "C[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: C}}
"""
SIZES = (100, 400, 800)


def family(work: SharedWork | None) -> DesignRange:
    arch = load_arch(ARCH)
    turned = tuple(arch.with_values({"BUF.size": size}) for size in SIZES)
    return DesignRange(request_of(arch, PRODUCT, {}), (turned,), work)


def of_small(size: int) -> SharedWork:
    return SharedWork(8, request_of(load_arch(ARCH).with_values({"BUF.size": size}), PRODUCT, {}))


def test_work_of_a_design_is_counted_and_the_same_after_other_designs() -> None:
    work = of_small(400)
    first = work.of_one
    labels = search(load_arch(ARCH).with_values({"BUF.size": 400}), PRODUCT).statistics.labels
    assert first == shared_work.PER_EINSUM + shared_work.PER_LABEL * labels
    assert of_small(400).of_one == first
    assert [limit.units for limit in work.limits()] == [8 * shared_work.LITTLE, 8 * first]


def test_a_design_in_which_nothing_fits_takes_little_work() -> None:
    arch = ARCH.replace("tensors: {may_keep: All}", "tensors: {keep: All}")
    small = load_arch(arch).with_values({"BUF.size": 8})
    assert SharedWork(8, request_of(small, PRODUCT, {})).of_one == shared_work.LITTLE


@pytest.mark.parametrize(("little", "per_einsum"), [(10_000, 0), (1, 10_000)])
def test_a_search_within_its_work_answers(
    little: int, per_einsum: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first attempt, or in the second, with the work of the designs one by one."""
    monkeypatch.setattr(shared_work, "LITTLE", little)
    monkeypatch.setattr(shared_work, "PER_EINSUM", per_einsum)
    fronts = design_fronts(family(of_small(400)))
    assert fronts is not None
    for size in SIZES:
        arch = load_arch(ARCH).with_values({"BUF.size": size})
        answer = fronts.answer(arch)
        assert answer is not None
        assert answer.best.score.energy == pytest.approx(search(arch, PRODUCT).best.score.energy)


def test_a_search_that_takes_more_than_the_designs_one_by_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_work, "LITTLE", 1)
    monkeypatch.setattr(shared_work, "PER_EINSUM", 1)
    monkeypatch.setattr(shared_work, "PER_LABEL", 0)
    fronts = design_fronts(family(of_small(400)))
    assert fronts is not None
    assert fronts.answer(load_arch(ARCH)) is None
    unlimited = design_fronts(family(None))
    assert unlimited is not None
    assert unlimited.answer(load_arch(ARCH)) is not None
