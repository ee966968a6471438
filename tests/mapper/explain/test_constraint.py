"""The constraints of a component, one by one, and the component without each."""

from __future__ import annotations

from math import inf

from buffer_spaces import space

from tilewright.arch.components.components import Memory, TensorHolder
from tilewright.mapper.explain.constraint import MappingConstraint, constraints_of
from tilewright.mapper.mapspace.space import Mapspace


def constraints(room: Mapspace, name: str, *, min_usage: bool = False) -> list[MappingConstraint]:
    component = next(c for c in room.flat.components if c.name == name)
    return list(constraints_of(component, room.einsum, lambda *_: None, min_usage))


def test_constraints_of_a_memory() -> None:
    room = space("keep: weight, may_keep: input", size=96)
    named = {(c.kind, c.tensor): c for c in constraints(room, "BUF")}
    assert set(named) == {("size", ""), ("keep", "B"), ("may_keep", "Z")}
    buffer = next(c for c in room.flat.components if c.name == "BUF")
    large = named["size", ""].lift(buffer)
    assert isinstance(large, Memory)
    assert large.size == inf
    assert str(named["size", ""]) == "BUF has 96 bit"
    free = named["keep", "B"].lift(buffer)
    assert isinstance(free, TensorHolder)
    assert "B" not in free.tensors.resolve({}).keep
    assert named["keep", "B"].path == "BUF.tensors.keep"


def test_constraints_of_a_fanout() -> None:
    dim = (
        "fanout: 4, min_usage: 0.5,"
        " loop_bounds: [{expression: k, operator: '<=', value: 2}], reuse: input"
    )
    room = space(dim=dim)
    kinds = [c.kind for c in constraints(room, "PE")]
    assert kinds == ["fanout", "reuse", "loop_bounds"]
    every = constraints(room, "PE", min_usage=True)
    assert [c.kind for c in every] == [*kinds, "min_usage"]
    container = next(c for c in room.flat.components if c.name == "PE")
    lifted = {c.kind: c.lift(container).spatial[0] for c in every}
    assert lifted["fanout"].fanout == room.einsum.operations == 48
    assert not lifted["reuse"].reuse
    assert lifted["loop_bounds"].loop_bounds[0].operator == ">="
    assert lifted["loop_bounds"].loop_bounds[0].value == 0
    assert lifted["min_usage"].min_usage == 0
    assert every[2].text == "lanes of PE.x over k (of 6): <= 2"
