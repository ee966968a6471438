"""Rings of a line of elements: who is next, how far, on which colors."""

import pytest

from tilewright.mapper.grid.rings.ring_links import ring_hops, ring_links, ring_places


@pytest.mark.parametrize("elements", range(2, 14))
def test_a_ring_meets_every_element_over_short_links(elements: int) -> None:
    links = ring_links(elements)
    assert sorted(link.source for link in links) == list(range(elements))
    assert sorted(link.target for link in links) == list(range(elements))
    assert all(links[n].target == links[(n + 1) % elements].source for n in range(elements))
    assert {abs(link.target - link.source) for link in links} <= {1, 2}
    assert [ring_places(elements)[link.source] for link in links] == list(range(elements))
    assert ring_hops(elements) == sum(abs(link.target - link.source) for link in links)


@pytest.mark.parametrize("elements", range(2, 14))
def test_a_router_has_one_way_for_each_color(elements: int) -> None:
    """What an element receives, sends and lets pass has three colors."""
    colors = {position: list[tuple[str, int]]() for position in range(elements)}
    for link in ring_links(elements):
        low, high = sorted((link.source, link.target))
        for position in range(low, high + 1):
            colors[position].append((link.direction, link.parity))
    assert all(len(set(used)) == len(used) for used in colors.values())


def test_the_example() -> None:
    assert [(link.source, link.target) for link in ring_links(5)] == [
        (0, 2),
        (2, 4),
        (4, 3),
        (3, 1),
        (1, 0),
    ]
    assert ring_places(5).tolist() == [0, 4, 1, 3, 2]
