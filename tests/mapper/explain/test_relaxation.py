"""The least change of one constraint that leaves a mapping."""

from __future__ import annotations

from buffer_spaces import ARCH, workload

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain.relaxation import least_size, relaxation_of
from tilewright.mapper.explain.subject import ConstrainedEinsum


def subject(rules: str = "keep: All", dim: str = "fanout: 2", size: int = 8) -> ConstrainedEinsum:
    work = workload()
    arch = load_arch(ARCH.format(rules=rules, dim=dim, size=size))
    return ConstrainedEinsum(arch, work, work.einsums[0])


def fits(size: int) -> bool:
    machine = subject(size=size)
    return machine.feasible(frozenset(machine.constraints))


def test_the_least_size_is_least() -> None:
    machine = subject()
    size = next(c for c in machine.constraints if c.kind == "size")
    active = frozenset(machine.constraints) - {size}
    assert least_size(machine, size, active) == 24  # one value of 8 bits of each tensor
    assert fits(24)
    assert not fits(23)
    relaxation = relaxation_of(machine, size, frozenset(machine.constraints))
    assert relaxation is not None
    assert relaxation.text == "BUF.size: 24 (now 8)"
    assert relaxation.change == 2


def test_a_constraint_that_does_not_help_has_no_relaxation() -> None:
    machine = subject()
    fanout = next(c for c in machine.constraints if c.kind == "fanout")
    assert relaxation_of(machine, fanout, frozenset(machine.constraints)) is None


def test_the_nearest_number_of_a_bound_that_no_lanes_meet() -> None:
    dim = "fanout: 2, loop_bounds: [{expression: k, operator: '==', value: 4}]"
    machine = subject(dim=dim, size=4096)
    active = frozenset(machine.constraints)
    assert not machine.feasible(active)
    bound = next(c for c in machine.constraints if c.kind == "loop_bounds")
    relaxation = relaxation_of(machine, bound, active)
    assert relaxation is not None
    assert relaxation.text == "PE.spatial.0.loop_bounds.0.value: 2"  # 3 is nearer, but no lanes
    assert relaxation.value == 2
    fanout = next(c for c in machine.constraints if c.kind == "fanout")
    assert relaxation_of(machine, fanout, active) is None  # 4 does not divide 6
