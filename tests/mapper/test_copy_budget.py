"""Copies whose search is stopped: what was found so far, and a bound that holds."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import count

import pytest
from copied_cases import copied_space_of, workload_with_copies
from explore import at_night
from network_cases import copied_network_space_of
from search_cases import memory, zero

from tilewright.arch.spec.load import load_arch
from tilewright.mapper import evaluate, search
from tilewright.mapper.searches.budget import Budget, OutOfBudget
from tilewright.mapper.searches.copies.copy_einsums import CopySearch
from tilewright.mapper.searches.exact.label_metrics import Goal

MAKERS = {"plain": copied_space_of, "networks": copied_network_space_of}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_a_copy_stopped_anywhere_has_a_bound(
    maker: str, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal, close = Goal(objective), 0  # type: ignore[arg-type]
    for seed in range(6):
        whole = CopySearch().find(MAKERS[maker](seed), goal, None)
        if whole.best is None:
            continue
        least = whole.best.value(goal)
        for steps in (0, 10, 100):
            space = MAKERS[maker](seed)
            with monkeypatch.context() as patched:
                patched.setattr(Budget, "check", ends_after(steps))
                hasty = CopySearch().find(space, goal, None)
            assert 0 <= hasty.lower_bound <= least * (1 + 1e-12)
            if hasty.best is not None:
                assert space.contains(hasty.best.mapping) is None
                assert hasty.best.value(goal) >= least * (1 - 1e-12)
            close += 0.2 * least < hasty.lower_bound
    assert close


def ends_after(steps: int) -> Callable[..., None]:
    """Return a check of a budget that ends at one of its steps."""
    calls = count()

    def check(*_: object, **__: object) -> None:
        if next(calls) >= steps:
            raise OutOfBudget

    return check


@pytest.mark.parametrize(
    "limit", [{"budget": 0.3}, *at_night({"max_memory": 1.0})], ids=lambda limit: next(iter(limit))
)
def test_many_ways_to_copy_end_with_the_budget(limit: dict[str, float]) -> None:
    """Through five buffers: thousands of templates, half a minute without a budget."""
    rng, lines = random.Random(0), ["arch:", "  nodes:"]
    lines += memory("DRAM", "inf", "keep: input", rng, 50)
    lines += memory("BUF", "inf", "keep: output, may_keep: All", rng, 9)
    for level in range(4):
        lines += memory(f"L{level}", str(4096 >> level), "keep: Nothing, may_keep: All", rng, 2)
    lines += [
        "  - !Compute",
        "    name: MAC",
        *zero(),
        "    actions: [{name: compute, energy: 1, throughput: inf}]",
    ]
    arch = load_arch("\n".join(lines))
    work = workload_with_copies(("copy Y[b, m] = A[m]",), {"b": 8, "m": 64})
    began = time.process_time()
    result = search(arch, work, **limit)  # type: ignore[arg-type]
    assert time.process_time() - began < 10
    assert result.certificate.kind == "bounded"
    assert evaluate(arch, work, result.best.mapping) == result.best.score
