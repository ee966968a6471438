"""Values pass their Tolls where Einsums share loops or keep tensors on chip."""

from __future__ import annotations

import pytest
from copied_cases import BETWEEN
from fused_cases import two_memories

from tilewright.arch.load import load_arch
from tilewright.arch.printing import dump_arch
from tilewright.arch.tree import Arch
from tilewright.mapper import evaluate, search
from tilewright.mapper.workload import load_workload

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


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
@pytest.mark.parametrize("kept", ["All", "weight", "input"])
@pytest.mark.parametrize("size", [40, 128])
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
