"""Caches by identity and by value: asked about once, the oldest first, shared by threads."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tilewright.arch.memo import IdentityCache, ValueCache


def test_objects_are_told_apart_by_identity_and_the_oldest_goes_first() -> None:
    cache, asked = IdentityCache(2), []
    first, equal, last = [1], [1], [2]  # lists have no hash

    def ask(owner: list[int], key: str = "") -> int:
        return cache.of(owner, key, lambda: asked.append((owner, key)) or len(asked))  # type: ignore[func-returns-value, no-any-return]

    assert [ask(first), ask(equal), ask(first), ask(first, "other")] == [1, 2, 1, 3]
    assert first in cache
    assert last not in cache
    assert [ask(last), ask(equal), ask(first)] == [4, 2, 5]
    assert equal not in cache


def test_of_one_object_the_oldest_result_goes_first() -> None:
    cache, asked, owner = IdentityCache(2, per_object=2), [], object()
    for key in ("a", "b", "a", "c", "b", "a"):
        assert cache.of(owner, key, lambda k=key: asked.append(k) or k.upper()) == key.upper()
    assert asked == ["a", "b", "c", "a"]


def test_an_object_stays_alive_so_that_no_other_has_its_address() -> None:
    cache = IdentityCache(1000)
    answers = [cache.of([number], "", partial(int, number)) for number in range(1000)]
    assert answers == list(range(1000))


def test_an_exception_is_not_kept() -> None:
    cache, owner = IdentityCache(1), object()
    with pytest.raises(ZeroDivisionError):
        cache.of(owner, "", lambda: 1 // 0)
    assert cache.of(owner, "", lambda: 2) == 2


def test_equal_values_are_asked_about_once_and_the_oldest_goes_first() -> None:
    memo, asked = ValueCache(2), []
    for value in ("a", "b", "a", "c", "b", "a"):
        assert memo.of(value, lambda v=value: asked.append(v) or v.upper()) == value.upper()  # type: ignore[misc]
    assert asked == ["a", "b", "c", "a"]


def test_values_without_a_hash_are_asked_about_anew() -> None:
    asked: list[int] = []
    memo = ValueCache(2)
    for _ in range(2):
        memo.of(([],), lambda: asked.append(1))  # type: ignore[arg-type]
    assert asked == [1, 1]


class Slow:
    """A value whose hash lets other threads go on, as that of a record in Python may."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slow) and other.number == self.number

    def __hash__(self) -> int:
        time.sleep(0)
        return self.number


def test_threads_share_a_full_cache() -> None:
    """Each answer makes room for itself, while others do."""
    memo = ValueCache(2)

    def ask(first: int) -> bool:
        numbers = range(first, first + 500)
        return all(memo.of(Slow(n), lambda n=n: -n) == -n for n in numbers)  # type: ignore[misc]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, (0, 1000, 2000, 3000)))
