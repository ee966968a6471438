"""Why nothing fits: each kind of constraint, the smallest conflict, the least relaxation."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.explain.infeasible import Explanation, explain_infeasible, why_infeasible
from tilewright.mapper.explain.subject import ConstrainedEinsum
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.workload.errors import NoFeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0
    area: 0
    tensors: {DRAM_RULES}
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Container
    name: PE
    spatial: [{DIM}]
  - !Memory
    name: REG
    size: SIZE
    leak_power: 0
    area: 0
    tensors: {REG_RULES}
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    enabled: ENABLED
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
MATMUL = """
workload:
  rank_sizes: {M: 4, N: 4, K: 6}
  bits_per_value: {All: 16}
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Z}}
"""


def arch(**fields: str) -> Arch:
    default = {"DRAM_RULES": "keep: All", "DIM": "name: x, fanout: 2", "SIZE": "inf",
               "REG_RULES": "keep: weight", "ENABLED": "true"}  # fmt: skip
    text = ARCH
    for name, value in {**default, **fields}.items():
        text = text.replace(name, value)
    return load_arch(text)


def explain(machine: Arch, conventions: str = "default") -> Explanation:
    workload = load_workload(MATMUL)
    found = why_infeasible(machine, workload, workload.einsums[0], conventions)
    assert found is not None
    return found


BOUND = "name: x, fanout: 4, loop_bounds: [{{expression: {}, operator: '{}', value: {}}}]"
SHAPE = "keep: weight, tile_shape: [{{expression: {}, operator: '{}', value: {}}}]"


@pytest.mark.parametrize(
    ("fields", "conflict", "relaxations"),
    [
        ({"SIZE": "8"}, {"size REG", "keep REG B"},
         ["REG.size: 16 (now 8)", "REG.tensors.keep: without B"]),
        ({"SIZE": "100", "REG_RULES": "keep: All, no_refetch_from_above: output"}, set(), []),
        ({"REG_RULES": "keep: weight, no_refetch_from_above: weight, no_resend_to_below: weight"},
         {"keep DRAM B", "keep REG B", "no_refetch_from_above REG B", "no_resend_to_below REG B"},
         ["REG.tensors.no_resend_to_below: without B", "REG.tensors.keep: without B"]),
        ({"DIM": BOUND.format("k", "==", 4)}, {"loop_bounds PE"},
         ["PE.spatial.0.loop_bounds.0.value: 3"]),
        ({"DIM": BOUND.format("k", ">=", 5)}, {"loop_bounds PE", "fanout PE"},
         ["PE.spatial.0.loop_bounds.0.value: 3", "PE.spatial.0.fanout: 6"]),
        ({"DIM": BOUND.format("m | n", "product==", 16)}, {"loop_bounds PE", "fanout PE"},
         ["PE.spatial.0.loop_bounds.0.value: 4", "PE.spatial.0.fanout: 16"]),
        ({"DIM": BOUND.format("k", ">", 2) + ", reuse: input"}, {"loop_bounds PE", "reuse PE A"},
         ["PE.spatial.0.loop_bounds.0.value: 0", "PE.spatial.0.reuse: without A"]),
        ({"DIM": BOUND.format("k", ">=", 3).replace("fanout: 4", "fanout: 4, usage_scale: 2")},
         {"loop_bounds PE", "fanout PE", "usage_scale PE"},
         ["PE.spatial.0.loop_bounds.0.value: 2", "PE.spatial.0.fanout: 6",
          "without PE.spatial.0.usage_scale"]),
        ({"REG_RULES": SHAPE.format("k", "==", 4)}, {"tile_shape REG", "keep REG B"},
         ["REG.tensors.tile_shape.0.value: 3", "REG.tensors.keep: without B"]),
        ({"REG_RULES": SHAPE.format("k | n", "product>", 24)}, {"tile_shape REG", "keep REG B"},
         ["REG.tensors.tile_shape.0.value: 23", "REG.tensors.keep: without B"]),
        ({"DRAM_RULES": "keep: weight | output"}, {"may_keep DRAM A", "may_keep REG A"},
         ["DRAM.tensors.may_keep: with A too", "REG.tensors.may_keep: with A too"]),
        ({"REG_RULES": "back: weight"}, {"keep DRAM B", "back REG B"},
         ["DRAM.tensors.keep: without B", "REG.tensors.back: without B"]),
        ({"ENABLED": "\"'Y' == 'Z'\""}, {"enabled MAC"}, ["MAC.enabled: true"]),
    ],
)  # fmt: skip
def test_each_kind(fields: dict[str, str], conflict: set[str], relaxations: list[str]) -> None:
    work = load_workload(MATMUL)
    if not conflict:
        assert why_infeasible(arch(**fields), work, work.einsums[0]) is None
        return
    found = explain(arch(**fields))
    (blamed,) = found.conflicts
    assert blamed.kind == "smallest"
    assert {f"{c.kind} {c.component} {c.tensor}".strip() for c in blamed.constraints} == conflict
    assert all(c.where is not None and c.where.line is not None for c in blamed.constraints)
    helps = [r.text.split(" (now")[0] for r in found.relaxations]
    for text in relaxations:
        assert text.split(" (now")[0] in helps, helps


def test_order_of_tensors() -> None:
    """Under AccelForge's conventions neighbours stop each other's tiles, so that order matters."""
    rules = "keep: weight | output, no_refetch_from_above: output"
    order = ", tensor_order_options: [[weight, output]]"
    fields = {"SIZE": "100", "DIM": "name: x, fanout: 1"}
    work = load_workload(MATMUL)
    free = arch(REG_RULES=rules, **fields)
    assert why_infeasible(free, work, work.einsums[0], "accelforge") is None
    found = explain(arch(REG_RULES=rules + order, **fields), "accelforge")
    assert "tensor_order_options" in {c.kind for c in found.conflicts[0].constraints}
    assert "without REG.tensors.tensor_order_options" in found.help


def test_conflicts_apart_are_all_named() -> None:
    found = explain(arch(SIZE="8", DIM=BOUND.format("k", ">=", 5)))
    blamed = [{f"{c.kind} {c.component}" for c in one.constraints} for one in found.conflicts]
    assert blamed == [{"loop_bounds PE", "fanout PE"}, {"size REG", "keep REG"}]
    assert found.relaxations == ()
    changes = {r.constraint.path: r.value for r in found.together}
    fixed = arch(SIZE="8", DIM=BOUND.format("k", ">=", 5)).with_values(changes)
    work = load_workload(MATMUL)
    assert why_infeasible(fixed, work, work.einsums[0]) is None
    assert "REG.size: 16" in found.help


def test_disabled_memory() -> None:
    text = ARCH.replace("name: DRAM", "name: DRAM\n    enabled: Nothing")
    for name, value in {"DRAM_RULES": "keep: All", "DIM": "name: x, fanout: 2", "SIZE": "inf",
                        "REG_RULES": "keep: weight", "ENABLED": "true"}.items():  # fmt: skip
        text = text.replace(name, value)
    found = explain(load_arch(text))
    assert "DRAM is disabled for Z" in str(found)
    assert "DRAM.enabled: true" in found.help


def test_operands_that_the_workload_does_not_tell_apart_are_named() -> None:
    unnamed = MATMUL.replace(", renames: {input: A, weight: B, output: Z}", "")
    with pytest.raises(NoFeasibleMapping, match=r"as `renames: {input: A, weight: B}` would"):
        search(arch(SIZE="16"), load_workload(unnamed))


ORDERED = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, tensors: {keep: All}, COST}
  - !Memory {name: BUF, size: 16, tensors: {keep: input, ORDER}, COST}
  - !Memory {name: REG, size: 16, tensors: {keep: weight, ONCE, ORDER}, COST}
  - !Compute {name: MAC, leak_power: 0, area: 0, actions: [{name: compute, energy: 1, RATE}]}
"""
VECTOR = """
workload:
  rank_sizes: {M: 4, K: 2}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Z[m] = A[m, k] * B[k]", renames: {input: A, weight: B, output: Z}}
"""


def test_the_order_of_the_hierarchy_can_be_part_of_a_conflict() -> None:
    """A row of A fits under a loop over m, which would fetch B again if REG stands below BUF."""
    text = ORDERED.replace("ORDER", "force_memory_hierarchy_order: true")
    text = text.replace("ONCE", "no_refetch_from_above: weight")
    both = "[{name: read, energy: 1, RATE}, {name: write, energy: 1, RATE}]"
    text = text.replace("COST", f"leak_power: 0, area: 0, actions: {both}")
    text = text.replace("RATE", "throughput: 1")
    workload = load_workload(VECTOR)

    def conflict(machine: Arch) -> Explanation | None:
        return why_infeasible(machine, workload, workload.einsums[0], "accelforge")

    found = conflict(load_arch(text))
    assert found is not None
    assert "BUF stays at its place in the hierarchy" in str(found)
    assert "BUF.size: 32 (now 16)" in [one.text for one in found.relaxations]
    assert conflict(load_arch(text.replace("order: true", "order: false"))) is None


WIDE = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, tensors: {keep: All}, COST}
  - !Memory {name: BUF, size: inf, tensors: {keep: output}, COST}
  - !Container {name: Rows, spatial: [{name: x, fanout: 128}, {name: y, fanout: 128}]}
  - !Memory {name: REG, size: 8, tensors: {keep: A | B}, COST}
  - !Compute {name: MAC, leak_power: 0, area: 0, actions: [{name: compute, energy: 1, RATE}]}
"""
PRODUCT = """
workload:
  rank_sizes: {M: 512, K: 512, N: 512}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]"}
"""


@pytest.mark.parametrize("size", [8, 15])
def test_a_conflict_is_found_without_looking_through_all_lanes(size: int) -> None:
    """REG holds A and B; above BUF it has far more choices of lanes than templates can list."""
    both = "[{name: read, energy: 1, RATE}, {name: write, energy: 1, RATE}]"
    text = WIDE.replace("COST", f"leak_power: 0, area: 0, actions: {both}")
    text = text.replace("RATE", "throughput: 1").replace("size: 8", f"size: {size}")
    workload = load_workload(PRODUCT)
    found = why_infeasible(load_arch(text), workload, workload.einsums[0], "default")
    assert found is not None
    assert "8 bit for A, 8 bit for B" in str(found)
    assert f"REG.size: 16 (now {size})" in [one.text for one in found.relaxations]


@dataclass(frozen=True)
class Until(Budget):
    """A budget that is over after so many looks at it."""

    looks: int = 0
    seen: list[None] = field(default_factory=list, compare=False)

    @property
    def is_used_up(self) -> bool:
        self.seen.append(None)
        return len(self.seen) > self.looks


_BOTH = "[{name: read, energy: 1, RATE}, {name: write, energy: 1, RATE}]"
TIGHT_WIDE = WIDE.replace("COST", f"leak_power: 0, area: 0, actions: {_BOTH}").replace(
    "RATE", "throughput: 1"
)


def test_an_explanation_without_time_says_that_nothing_was_looked_at() -> None:
    workload, arch = load_workload(PRODUCT), load_arch(TIGHT_WIDE)
    subject = ConstrainedEinsum(arch, workload, workload.einsums[0], budget=Budget(deadline=0.0))
    found = explain_infeasible(subject)
    assert found is not None
    assert found.cut
    assert "This explanation was cut short" in str(found)


@pytest.mark.parametrize("looks", [100, 1000])
def test_what_an_explanation_says_holds_wherever_the_budget_cuts_it(looks: int) -> None:
    workload, arch = load_workload(PRODUCT), load_arch(TIGHT_WIDE)
    einsum = workload.einsums[0]
    found = explain_infeasible(ConstrainedEinsum(arch, workload, einsum, budget=Until(looks=looks)))
    whole = explain_infeasible(ConstrainedEinsum(arch, workload, einsum))
    assert found is not None
    assert whole is not None
    assert found.cut or found == whole
    subject = ConstrainedEinsum(arch, workload, einsum)
    for conflict in found.conflicts:
        assert not subject.feasible(frozenset(conflict.constraints))
    for relaxation in found.relaxations:
        assert relaxation.text in [one.text for one in whole.relaxations]
