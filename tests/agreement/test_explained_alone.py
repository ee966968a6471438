"""What is said of an Einsum of a workload, wherever it exchanges tensors, beside fused searches."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from deep_cases import random_dealt_case
from explore import enough
from fused_cases import (
    random_bounded_case,
    random_deep_case,
    random_narrow_case,
    random_network_case,
    random_wide_case,
)

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.spec import HolderSpec, MemorySpec
from tilewright.mapper.explain.together import no_mapping_alone
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload

Case = Callable[[int], tuple[Arch, Workload, str]]
CASES: list[Case] = [
    random_deep_case,
    random_wide_case,
    random_narrow_case,
    random_network_case,
    random_bounded_case,
    random_dealt_case,
]
KEPT = ("All", "input", "output", "input | output", "weight")


def tightened(arch: Arch, rng: random.Random) -> Arch:
    """Return the design with hardly any room in inner memories that must keep something."""
    changes: dict[str, object] = {}
    for node in list(arch.leaves())[1:]:
        if isinstance(node.spec, MemorySpec) and rng.random() < 0.8:
            changes[f"{node.name}.size"] = rng.choice((1, 1, 2, 2, 3))
        if isinstance(node.spec, HolderSpec) and rng.random() < 0.7:
            changes[f"{node.name}.tensors.keep"] = rng.choice(KEPT)
    return arch.with_values(changes)


def check(case: Case, seed: int) -> bool:
    """Tell whether one Einsum alone is blamed; then no fused mapping may exist."""
    arch, workload, conventions = case(seed)
    arch = tightened(arch, random.Random(f"tightened {seed}"))
    if no_mapping_alone(request_of(arch, workload, {"conventions": conventions})) is None:
        return False
    with pytest.raises(InfeasibleMapping):
        fused_search(arch, workload, conventions=conventions)
    return True


@pytest.mark.parametrize("case", CASES)
def test_an_einsum_is_blamed_only_where_nothing_fits(case: Case) -> None:
    assert any(check(case, seed) for seed in range(12))


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_an_einsum_is_blamed_only_where_nothing_fits_in_many(case: Case, shift: int) -> None:
    assert enough(sum(check(case, seed) for seed in range(shift + 100, shift + 200)), 5)
