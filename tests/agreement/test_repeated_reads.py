"""A tensor that one Einsum reads twice: two accesses, each moved by itself."""

from __future__ import annotations

import numpy as np
import pytest
from nodes import arch_text, lanes, mac, memory

from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.formulas.reference import reference_values
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload

ARCH = arch_text(
    memory("DRAM", "inf", "keep: All", (100, "inf")),
    memory("BUF", 48, "keep: KEEP, may_keep: All", (1, "inf")),
    lanes("Row", "x", 2),
    mac(),
)
WORKLOAD = """
workload:
  bits_per_value: {A: 8, Z: 16}
  rank_sizes: {M: SIZES}
  einsums: ["EINSUM"]
"""
GRAM = ("Z[m, n] = A[m, k] * A[M: n, k]", "4, N: 4, K: 6")
NEIGHBOURS = ("Z[m] = A[m] * A[M: m + 1]", "9")


def workload(einsum: str, sizes: str) -> str:
    return WORKLOAD.replace("EINSUM", einsum).replace("SIZES", sizes)


@pytest.mark.parametrize("case", [GRAM, NEIGHBOURS])
def test_the_optimum_is_that_of_a_listing(case: tuple[str, str]) -> None:
    arch, work = load_arch(ARCH.replace("KEEP", "Nothing")), load_workload(workload(*case))
    fast = search(arch, work)
    listed = search(arch, work, method="exhaustive")
    assert fast.certificate.kind == listed.certificate.kind == "optimal"
    assert fast.certificate.value == listed.certificate.value


def test_each_access_is_counted() -> None:
    arch = load_arch(ARCH.replace("KEEP", "A"))
    result = search(arch, load_workload(workload(*NEIGHBOURS)))
    text = str(result.best.mapping)
    assert "A.2" in text
    # eight operations; 8 values of each access are read from DRAM, written to and read from BUF
    assert result.best.score.energy == 8 + 8 * (100 * 8 + 8 + 8) * 2 + 8 * 100 * 16


def test_values_and_file() -> None:
    work = load_workload(workload(*GRAM))
    values = np.arange(24.0).reshape(4, 6)
    assert (reference_values(work, {"A": values})["Z"] == values @ values.T).all()
    assert load_workload(dump_workload(work)).einsums == work.einsums


def test_a_tensor_that_an_einsum_writes_is_refused() -> None:
    text = workload(GRAM[0].replace("A", "Y"), GRAM[1]).replace(
        'einsums: ["', 'einsums: ["Y[m, k] = A[m, k]", "'
    )
    with pytest.raises(WorkloadError, match="reads tensor Y with different indices"):
        load_workload(text.replace("{A: 8, Z: 16}", "{All: 8}"))
