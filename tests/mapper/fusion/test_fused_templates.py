"""Fused templates: where tensors on chip stand among the other holders of their memory."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations, permutations

import pytest
from fused_cases import two_memories
from fused_example import WORKLOAD, paths_of

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.pmappings.fused_templates import (
    FusedTemplate,
    banned_variables,
    first_two_memories,
    fused_templates,
    memories_on_chip,
    private_tensors,
    reorderable_memories,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.errors import UnsupportedFeature

Y_IN_BUF = frozenset({TensorPlace("Y", "BUF")})


def space_of(rules: str = "") -> Mapspace:
    """Return the mapspace of Y[m, n] = A[m, k] * B[k, n], of which Y is exchanged."""
    einsum, flat = paths_of(WORKLOAD, two_memories(64, rules=rules))[0]
    return Mapspace(einsum, flat, exchanged=frozenset({"Y"}))


def templates_with_y_on_chip(space: Mapspace) -> list[FusedTemplate]:
    return [t for t in fused_templates(space, Y_IN_BUF) if t.on_chip == (TensorPlace("Y", "BUF"),)]


def test_memories_of_a_path() -> None:
    space = space_of()
    outermost, second = first_two_memories(space.flat)
    assert (outermost.name, second and second.name) == ("DRAM", "BUF")
    assert memories_on_chip(space) == ["BUF"]
    assert reorderable_memories(space) == ()
    assert private_tensors(space) == {"A", "B"}


def test_a_tensor_on_chip_stands_at_every_place_of_its_memory() -> None:
    """Any of A and B may be in BUF beside Y, in any order."""
    subsets = chain.from_iterable(combinations("AB", count) for count in range(3))
    expected = {order for subset in subsets for order in permutations((*subset, "Y"))}
    orders: set[tuple[str, ...]] = set()
    for template in templates_with_y_on_chip(space_of()):
        holders = template.template.holders[template.n_outermost :]
        tensors = tuple(holder.tensor for holder in holders)
        orders.add(tensors)
        region = tuple(holder.tensor for holder in template.region)
        assert region == tensors[: tensors.index("Y") + 1]
        assert template.n_private == 0
    assert orders == expected


def test_loops_that_fetch_again_are_banned_above_the_holder() -> None:
    """Loops over m move B[k, n] again, so they may not stand between DRAM and its holder."""
    space = space_of(", no_refetch_from_above: B")
    for template in templates_with_y_on_chip(space):
        region = [holder.tensor for holder in template.region]
        in_memory = [h.tensor for h in template.template.holders[template.n_outermost :]]
        last = in_memory.index("B") if "B" in in_memory else -1
        banned = banned_variables(space, template)
        assert len(banned) == len(region)
        assert [("m" in variables) for variables in banned] == [
            place <= last for place in range(len(region))
        ]
        assert not any({"k", "n"} & variables for variables in banned)


def test_without_rules_nothing_is_banned() -> None:
    space = space_of()
    for template in templates_with_y_on_chip(space):
        if not template.template.adjacent:
            assert not any(banned_variables(space, template))


def test_a_tensor_on_chip_that_nobody_may_read_there_has_no_template() -> None:
    space = space_of()
    places = frozenset({TensorPlace("Y", "REG")})
    assert not any(template.on_chip for template in fused_templates(space, places))


def test_a_path_needs_a_memory() -> None:
    flat = space_of().flat
    bare = replace(flat, components=(flat.compute,))
    with pytest.raises(UnsupportedFeature, match="no memory on the way to MAC"):
        first_two_memories(bare)
