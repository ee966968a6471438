"""Workload files to Einsums: sizes, limits, the public files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.formulas.reference import reference_values
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload


def load(einsums: str, sizes: str = "M: 4, N: 8, K: 6", more: str = "") -> Workload:
    lines = "".join(f"  - {line.strip()}\n" for line in einsums.strip().splitlines())
    return load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 8}}\n{more}"
        f"  einsums:\n{lines}"
    )


def test_sizes_of_ranks_may_use_each_other() -> None:
    assert load('"Z[m] = A[m]"', "M: ceil(64 * 8 / X), X: 3").einsum("Z").bounds == {"m": 171}


@pytest.mark.parametrize("size", [".nan", ".inf", "1.5", "true", "0", "M", "10**400 - 10**400 / 1"])
def test_sizes_are_whole_numbers(size: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        load('"Z[m] = A[m]"', sizes=f"M: {size}")
    assert caught.value.where is not None
    assert caught.value.where.line == 2


def test_sizes_end_before_floats_do() -> None:
    """Counts are exact, but what they cost is a float."""
    names = [f"v{number}" for number in range(6)]
    for einsum, sizes in (
        (f"Z[v0] = A[{', '.join(names)}]", ", ".join(f"{n.upper()}: 10**18" for n in names)),
        (f"Z[m] = A[X: {'9' * 300}*m]", "M: 4"),
    ):
        with pytest.raises(WorkloadError, match="too large") as caught:
            load(f'"{einsum}"', sizes=sizes)
        assert caught.value.where is not None


EXAMPLES = {
    "basic/matvecs.yaml": 2,
    "basic/three_matmuls_annotated.yaml": 3,
    "basic/matmuls.yaml": 2,
    "cnns/mobilenet/mobilenet_28.yaml": 6,
    "compute_in_memory/resnet18.yaml": 21,
    "compute_in_memory/vision_transformer.yaml": 98,
    "transformers/gpt/gpt3_6.7B.yaml": 10,
    "transformers/deepseek/deepseek_v3_671B.yaml": 21,
    "transformers/qwen/qwen3_30B_A3B.yaml": 14,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_public_workloads_load(shared_data: Path, name: str) -> None:
    variables = {
        "BATCH_SIZE": 1, "DECODE": False, "N_NEW_TOKENS": 64, "N_CACHED_TOKENS": 128,
        "N_EINSUMS": 2, "M": 64, "KN": 64,
    }  # fmt: skip
    path = shared_data / "accelforge" / "workloads" / name
    workload = load_workload(path, variables=variables)
    assert len(workload.einsums) == EXAMPLES[name]
    for einsum in workload.einsums:
        assert einsum.operations > 0
        assert workload.scope(einsum).einsum == einsum.name


def test_a_window_without_weights_is_bounded_by_the_rank_of_its_name() -> None:
    pooling = '"O[p] = max(A[H: 2*p + r])"'
    (einsum,) = load(pooling, sizes="P: 8, R: 2").einsums
    assert einsum.bounds == {"p": 8, "r": 2}
    (index,) = load(pooling, sizes="P: 8, R: 2, H: 16").outside  # r runs over all of H
    assert "iteration_space_shape: {r: 0 <= r < 2}" in index.instead


def test_a_variable_with_an_index_of_its_own_keeps_its_bound() -> None:
    (einsum,) = load('"Z[M: p] = B[M: p]"', sizes="M: 16, P: 8").einsums
    assert einsum.bounds == {"p": 16}


def test_ranks_of_a_tensor_have_one_order() -> None:
    """That of the access that stands first, in all Einsums and in further reads of one Einsum."""
    einsums = """
    "H[m, n] = A[m, n]"
    "Z[m] = H[N: n, M: m] * A[N: n, M: m]"
    "Y[m, n] = B[m, n] - B[N: m, M: n]"
    """
    workload = load(einsums, "M: 6, N: 6")
    for einsum in workload.einsums:
        for access in einsum.accesses:
            ranks = tuple(rank for rank, _ in access.projection)
            assert ranks == (("M",) if access.tensor == "Z" else ("M", "N"))
    last = workload.einsum("Y").access("B.2").projection
    assert [form.terms for _, form in last] == [(("n", 1),), (("m", 1),)]
    assert load_workload(dump_workload(workload)).einsums == workload.einsums


def test_a_further_read_may_name_other_ranks() -> None:
    """`A[n, k]` beside `A[m, k]`: its indices stand in the places of the first ones."""
    workload = load('"Z[m, n] = A[m, k] * A[n, k]"')
    assert [rank for rank, _ in workload.einsum("Z").access("A.2").projection] == ["N", "K"]
    values = np.arange(48.0).reshape(8, 6)
    product = values[:4] @ values.T
    assert (reference_values(workload, {"A": values})["Z"] == product).all()
