"""Random programs: values equal numpy's, and nothing depends on the order of visits."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import random_case, random_changes
from run_cases import check_accounts, check_values, digest, digests, interpreted_digests, run

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=25)
@given(SEEDS, SEEDS)
def test_values_equal_numpy(seed: int, profile_seed: int) -> None:
    case = random_case(seed)
    check_values(case, run(case, random_changes(profile_seed)))


@settings(max_examples=15)
@given(SEEDS, SEEDS, st.integers(1, 2**30))
def test_order_of_visits_does_not_matter(seed: int, profile_seed: int, shuffle: int) -> None:
    case, changes = random_case(seed), random_changes(profile_seed)
    assert digest(run(case, changes)) == digest(run(case, changes, shuffle))


@settings(max_examples=15)
@given(SEEDS, SEEDS)
def test_time_is_accounted_for(seed: int, profile_seed: int) -> None:
    check_accounts(run(random_case(seed), random_changes(profile_seed)))


def test_compiled_equals_interpreted() -> None:
    """The same kernels as plain Python give every value, cycle and count alike."""
    assert interpreted_digests("machine_programs:random_case", 12) == digests(random_case, 12)
