"""Why a tensor is not kept somewhere: the cost of keeping it, or what forbids it."""

from __future__ import annotations

import pytest
from nodes import arch_text, mac, memory

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain.kept import why_not_kept
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (100, 16), (110, 8)),
    memory("BUF", "SIZE", "RULES", (50, 256), (60, 128)),
    mac(0.5),
)
WORK = load_workload("""
workload:
  rank_sizes: {M: 4, N: 4, K: 4, P: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, p] = Y[m, n] * C[n, p]", renames: {input: Y, weight: C, output: Z}}
""")


def arch(size: object = 512, rules: str = "keep: Nothing, may_keep: All") -> Arch:
    return load_arch(ARCH.replace("SIZE", str(size)).replace("RULES", rules))


def test_kept_already() -> None:
    answer = why_not_kept(arch(), WORK, "B", "BUF", einsum="Y")
    assert answer.kept
    assert str(answer) == "the best mapping keeps B in BUF"


def test_cost_of_keeping() -> None:
    tight = arch(16)
    free = search(tight, WORK, einsum="Y").certificate.value
    costs = {}
    for tensor in "ABY":
        answer = why_not_kept(tight, WORK, tensor, "BUF", einsum="Y")
        assert answer.free.certificate.value == free
        assert answer.conflict is None
        costs[tensor] = answer.cost
        if not answer.kept:
            forced = tight.with_values({"BUF.tensors.keep": tensor, "BUF.tensors.may_keep": "All"})
            assert answer.forced is not None
            best = search(forced, WORK, einsum="Y").certificate.value
            assert answer.forced.certificate.value == pytest.approx(best, rel=1e-12)
            assert answer.cost == pytest.approx(best / free - 1)
            assert f"keeping {tensor} in BUF changes energy from" in str(answer)
    assert any(cost is not None and cost > 0 for cost in costs.values())
    assert all(cost is not None and cost >= 0 for cost in costs.values())


def test_a_rule_that_forbids_it_and_what_it_costs() -> None:
    answer = why_not_kept(arch(rules="keep: weight"), WORK, "A", "BUF", einsum="Y")
    (rule,) = answer.forbidden
    assert rule.kind == "may_keep"
    assert rule.where is not None
    assert rule.where.line is not None
    assert answer.cost is not None
    assert answer.cost < 0  # the rule costs energy
    assert "a rule forbids A in BUF: BUF may not keep A" in str(answer)


def test_a_conflict_that_forbids_it() -> None:
    answer = why_not_kept(arch(7), WORK, "B", "BUF", einsum="Y")
    assert answer.forced is None
    assert answer.cost is None
    assert "no mapping can keep B in BUF" in str(answer)
    assert "BUF has 7 bit" in str(answer)
    assert answer.to_dict()["value_if_kept"] is None


def test_a_tensor_that_one_of_its_einsums_keeps() -> None:
    """Y writes Y through BUF, as its output; Z reads it as its input, which BUF may not keep."""
    answer = why_not_kept(arch(rules="keep: output"), WORK, "Y", "BUF")
    assert (answer.kept, answer.kept_for, answer.left_out) == (False, ("Y",), ("Z",))
    first, second = str(answer).splitlines()[:2]
    assert first == "the best mapping keeps Y in BUF for Y, not for Z"
    assert second.startswith("a rule forbids Y in BUF: BUF may not keep Y")
    assert answer.to_dict()["kept_for"] == ["Y"]


def test_whole_workload() -> None:
    answer = why_not_kept(arch(64), WORK, "Y", "BUF", objective="latency")
    assert answer.free.certificate.kind == "optimal"
    assert answer.kept or (answer.cost is not None and answer.cost >= 0)


def test_what_does_not_exist() -> None:
    with pytest.raises(TilewrightError, match="no Einsum touches this tensor"):
        why_not_kept(arch(), WORK, "Q", "BUF")
    with pytest.raises(SpecError, match="no component"):
        why_not_kept(arch(), WORK, "A", "BUFF")
    with pytest.raises(SpecError, match="holds no tensors"):
        why_not_kept(arch(), WORK, "A", "MAC")
