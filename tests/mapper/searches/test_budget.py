"""What ends a search: seconds, memory, labels, work, a request to stop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import inf

import pytest

from tilewright.mapper.searches.budget import (
    STOP_REQUESTED,
    Budget,
    EndReason,
    OutOfBudget,
    WorkLeft,
    advising_on_memory,
    budget_from,
    resident_bytes,
)
from tilewright.mapper.searches.search_errors import MemoryUsedUp


@pytest.fixture
def stop() -> Iterator[None]:
    """Ask the searches of this process to stop."""
    STOP_REQUESTED.set()
    yield
    STOP_REQUESTED.clear()


def reason(budget: Budget, labels: int = 0, more_bytes: float = 0.0) -> EndReason | None:
    """Return what ends a search at a check, None if it may go on."""
    try:
        budget.check(labels, more_bytes)
    except OutOfBudget as end:
        return end.reason
    return None


def test_without_limits_nothing_ends_a_search() -> None:
    assert reason(Budget(), labels=1000, more_bytes=1e18) is None
    assert Budget().seconds_left is None
    assert not Budget().is_limited


def test_each_limit_ends_it_for_its_reason() -> None:
    assert reason(Budget(deadline=time.monotonic() - 1)) is EndReason.SECONDS
    assert reason(Budget(labels=5), labels=6) is EndReason.LABELS
    assert reason(Budget(labels=5), labels=5) is None
    room = resident_bytes() + 1e9
    assert reason(Budget(memory=room), more_bytes=2e9) is EndReason.MEMORY
    assert reason(Budget(memory=room), more_bytes=1e6) is None


def test_a_limit_of_work_counts_checks() -> None:
    budget = Budget(work=WorkLeft(2))
    assert [reason(budget) for _ in range(3)] == [None, None, EndReason.WORK]


def test_only_who_listens_is_stopped(stop: None) -> None:
    assert reason(budget_from(None)) is EndReason.STOPPED
    assert budget_from(100.0).seconds_left == 0.0
    assert reason(Budget()) is None
    with pytest.raises(OutOfBudget):
        budget_from(None).check_stop()


def test_a_share_is_one_of_the_seconds_left() -> None:
    budget = budget_from(100.0)
    left = budget.share(0.25).seconds_left
    assert left is not None
    assert 20.0 < left <= 25.0
    assert Budget().share(0.25).deadline == inf
    late = Budget(deadline=time.monotonic() - 10.0)
    assert late.share(0.5).seconds_left == 0.0


def test_items_are_yielded_until_the_budget_ends() -> None:
    items = Budget(work=WorkLeft(3)).checking(range(10))
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(OutOfBudget):
        next(items)


def test_memory_that_the_system_does_not_give_names_a_limit_to_set() -> None:
    with pytest.raises(MemoryUsedUp) as caught, advising_on_memory("the search of Z"):
        raise MemoryError
    assert caught.value.what.startswith("the search of Z needs more memory")
    limit = float((caught.value.instead or "").partition("max_memory=")[2].split()[0])
    assert 0 < limit < resident_bytes()
