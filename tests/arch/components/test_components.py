"""Resolved components as values: fanouts and actions."""

from __future__ import annotations

import pytest

from tilewright.arch.components.components import Action, Container, SpatialDim


def dim(name: str, fanout: int) -> SpatialDim:
    return SpatialDim(name=name, fanout=fanout, may_reuse=frozenset())


def test_fanouts_are_products_of_their_dimensions() -> None:
    plain = Container(name="P", spatial=(dim("X", 4), dim("Y", 3)))
    assert (plain.own_fanout, plain.physical_fanout) == (12, 1)
    inside = Container(name="Q", physical_spatial=(dim("X", 2), dim("Y", 5)), grid_fanout=20)
    assert (inside.own_fanout, inside.physical_fanout, inside.grid_fanout) == (1, 10, 20)
    assert Container(name="R").own_fanout == 1


def test_actions_are_found_by_name() -> None:
    read, write = (Action(name=n, energy=e, throughput=1.0) for n, e in (("read", 2), ("write", 3)))
    component = Container(name="P", actions=(read, write))
    assert component.action("write") is write
    with pytest.raises(KeyError, match="hop"):
        component.action("hop")
