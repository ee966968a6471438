"""One Einsum with constraints that can be lifted one by one."""

from __future__ import annotations

import pytest
from buffer_spaces import ARCH, workload

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain.constraint import MappingConstraint
from tilewright.mapper.explain.subject import WORK, ConstrainedEinsum, TooLarge, concluded


def subject(size: int = 8, **more: frozenset[str]) -> ConstrainedEinsum:
    work = workload()
    arch = load_arch(ARCH.format(rules="keep: All", dim="fanout: 2", size=size))
    return ConstrainedEinsum(arch, work, work.einsums[0], **more)  # type: ignore[arg-type]


def test_constraints_in_file_order() -> None:
    kinds = [(c.component, c.kind) for c in subject().constraints]
    assert kinds.index(("DRAM", "keep")) < kinds.index(("BUF", "size"))
    assert kinds.index(("BUF", "size")) < kinds.index(("PE", "fanout"))
    backed = subject(backed=frozenset("A")).constraints[-1]
    assert (backed.kind, backed.tensor) == ("unfused", "A")


def test_mapspaces_under_all_and_under_fewer_constraints() -> None:
    machine = subject()
    active = frozenset(machine.constraints)
    (whole,) = machine.spaces(active)
    (free,) = machine.spaces(frozenset())
    sizes = [{c.name: getattr(c, "size", None) for c in s.flat.components} for s in (whole, free)]
    assert [of["BUF"] for of in sizes] == [8, float("inf")]
    assert next(iter(whole), None) is None
    size = next(c for c in machine.constraints if (c.kind, c.component) == ("size", "BUF"))
    assert not machine.feasible(active)
    assert machine.feasible(active - {size})
    assert machine.sizes() == {"DRAM": float("inf"), "BUF": 8}


def test_too_much_work_ends_a_question() -> None:
    machine = subject()
    machine.spent = WORK
    with pytest.raises(TooLarge):
        machine.check(1.0)
    assert machine.cut


def test_conclusions_from_smaller_and_larger_sets() -> None:
    first, second, third = (MappingConstraint("keep", "M", (), t) for t in "ABC")
    answers = {frozenset({first}): False, frozenset({second, third}): True}
    assert concluded(answers, frozenset({first, second})) is False  # more than a conflict
    assert concluded(answers, frozenset({third})) is True  # less than a feasible set
    assert concluded(answers, frozenset({first, second, third})) is False
    assert concluded({}, frozenset()) is None
