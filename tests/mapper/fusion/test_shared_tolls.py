"""Values pass their Tolls where Einsums share loops or keep tensors on chip."""

from __future__ import annotations

import pytest
from copied_cases import BETWEEN
from explore import at_night
from fused_cases import two_memories, workload_of
from fused_mappings import best_fused
from fused_owns import Subject

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.printing import dump_arch
from tilewright.mapper import evaluate, search
from tilewright.mapper.workload.workload_loading import load_workload

WORK = load_workload("""
workload:
  rank_sizes: {M: 2, K: 4, N: 8}
  bits_per_value: {All: 4}
  einsums:
  - einsum: "Y[m, k] = A[m, k]"
    is_copy_operation: true
    renames: {input: A, weight: Nothing, output: Y}
  - einsum: "V[m, n] = Y[m, k] * B[k, n]"
    renames: {input: Y, weight: B, output: V}
  - einsum: "Z[m, n] = V[m, n] * C[n]"
    renames: {input: V, weight: C, output: Z}
""")


def with_toll(size: int, kept: str, direction: str) -> Arch:
    """Return DRAM, a Toll that costs 3 per bit, and a buffer of `size` bits."""
    toll = (
        f"  - !Toll\n    name: TOLL\n    direction: {direction}\n    leak_power: 0\n    area: 0\n"
        f"    tensors: {{keep: {kept}, may_keep: Nothing}}\n"
        "    actions: [{name: read, energy: 3, throughput: 100}]\n"
    )
    lines = dump_arch(two_memories(size)).splitlines(keepends=True)
    place = [i for i, line in enumerate(lines) if "!Memory" in line][1]
    return load_arch("".join([*lines[:place], toll, *lines[place:]]))


@pytest.mark.parametrize(
    ("size", "kept", "conventions"),
    [
        (40, "All", "default"),
        (128, "All", "accelforge"),
        pytest.param(40, "input", "accelforge", marks=pytest.mark.nightly),
        pytest.param(128, "weight", "default", marks=pytest.mark.nightly),
    ],
)
def test_every_toll_is_paid(size: int, kept: str, conventions: str) -> None:
    """The search's own figures must agree with the model's, or it ends in an internal error."""
    arch = with_toll(size, kept, "up_and_down")
    result = search(arch, WORK, conventions=conventions)
    assert not result.notes
    assert evaluate(arch, WORK, result.best.mapping, conventions) == result.best.score
    paid = {name: n for name, n in result.best.score.actions.items() if "/TOLL/" in name}
    assert any(paid.values())
    free = search(two_memories(size), WORK, conventions=conventions)
    assert result.certificate.value > free.certificate.value


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
@pytest.mark.parametrize("direction", ["up", "up_and_down"])
def test_the_toll_of_what_a_copy_reads_is_its_own(direction: str, conventions: str) -> None:
    """Y passes it on its way into the copy, not on its way out of the Einsum that writes it."""
    arch = with_toll(256, "input", direction)
    result = search(arch, BETWEEN, conventions=conventions)
    assert result.certificate.kind == "optimal"
    assert evaluate(arch, BETWEEN, result.best.mapping, conventions) == result.best.score
    written = [name for name in result.best.score.actions if name.startswith("Y/TOLL/Y/")]
    assert not any(result.best.score.actions[name] for name in written)


@pytest.mark.parametrize("kept", ["input", *at_night("weight")])
def test_a_toll_that_one_einsum_passes_is_not_paid_by_another(kept: str) -> None:
    """B is the weight of Y and the input of Z: held above loops of both, it would pass for both."""
    work = workload_of(("Y[m, n] = A[m] * B[n]", "Z[m] = B[n] * Y[m, n]"), {"m": 2, "n": 2})
    arch = with_toll(2, kept, "down")
    result = search(arch, work)
    assert result.certificate.kind == "optimal"
    listed = best_fused(Subject(arch, work, "default"), "energy")
    assert listed is not None
    assert result.certificate.value == pytest.approx(listed[0], rel=1e-9)


DEEP = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, tensors: {keep: ~Intermediates, may_keep: All}, COST 50, WRITE}
  - !Memory {name: BUF, size: 3, tensors: {keep: Nothing, may_keep: weight | output}, COST 6, WRITE}
  - !Toll {name: TOLL, direction: up_and_down, tensors: {keep: weight}, COST 2, RATE}]}
  - !Memory {name: REG, size: 2, tensors: {keep: Nothing, may_keep: Intermediates}, COST 1, WRITE}
  - !Compute {name: MAC, leak_power: 0, area: 0, actions: [{name: compute, energy: 1, RATE}]}
"""


def test_a_toll_stands_below_a_memory_above_it() -> None:
    """B and C, held in BUF, pass the Toll on their way to the MAC, beside Y, exchanged in REG."""
    text = DEEP.replace("WRITE", "RATE}, {name: write, energy: 9, RATE}]").replace(
        "COST", "leak_power: 0, area: 0, actions: [{name: read, energy:"
    )
    texts = ("Y[m, n] = A[m] * B[n]", "X[m] = Y[m, n] * C[n]", "Z[n] = Y[m, n] * D[m]")
    arch = load_arch(text.replace("RATE", "throughput: 8"))
    work = workload_of(texts, {"m": 2, "n": 3})
    result = search(arch, work, conventions="accelforge")
    assert result.certificate.kind == "optimal"
    listed = best_fused(Subject(arch, work, "accelforge", deep=True), "energy")
    assert listed is not None
    assert result.certificate.value == pytest.approx(listed[0], rel=1e-9)
