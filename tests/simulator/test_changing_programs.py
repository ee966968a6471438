"""Random programs whose queues, microthreads and registers change while they run."""

from __future__ import annotations

from changing_programs import changing_case
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_programs import random_changes
from run_cases import check_accounts, check_values, digest, digests, interpreted_digests, run

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=20)
@given(SEEDS, SEEDS, st.integers(1, 2**30))
def test_values_and_no_order_of_visits(seed: int, profile_seed: int, shuffle: int) -> None:
    case, changes = changing_case(seed), random_changes(profile_seed)
    result = run(case, changes)
    check_values(case, result)
    check_accounts(result)
    assert digest(result) == digest(run(case, changes, shuffle))


def test_compiled_equals_interpreted() -> None:
    """The same kernels as plain Python give every value, cycle and count alike."""
    assert interpreted_digests("changing_programs:changing_case", 8) == digests(changing_case, 8)


def test_every_kind_occurs() -> None:
    names = {changing_case(seed).program.name for seed in range(24)}
    assert names == {"rebound", "paused", "copied", "cut_short"}
