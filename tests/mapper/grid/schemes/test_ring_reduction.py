"""The ring of an all-reduce: chunks, colors, and what it costs, against a walk of every chunk."""

import pytest

from tilewright.mapper.grid.rings.ring_links import ring_links
from tilewright.mapper.grid.schemes.reduction_scheme import RING, reduction_scheme
from tilewright.mapper.grid.schemes.ring_reduction import (
    MOST_IN_RING,
    RingReduction,
    fits_ring,
    link_colors,
)
from tilewright.mapper.grid.schemes.scheme_choices import MOST_WINDING, shared_schemes
from tilewright.mapper.grid.schemes.snake import Snake
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_the_text_is_an_all_reduce() -> None:
    assert reduction_scheme("all_reduce(ring)") == RING
    assert str(RING) == "all_reduce(ring)"
    assert RING.shared
    for text in ("ring", "y_first(ring)", "all_reduce(y_first(ring))"):
        with pytest.raises(InfeasibleMapping, match="there is no reduction"):
            reduction_scheme(text)


@pytest.mark.parametrize(("columns", "rows"), [(2, 1), (5, 1), (1, 4), (3, 2), (4, 4)])
def test_every_chunk_goes_round_once_and_ends_in_its_element(columns: int, rows: int) -> None:
    ring = RingReduction(Snake(columns, rows), 3 * columns * rows)
    after = {link.source: link for link in ring_links(ring.elements)}
    handled = {place: ring.chunks(place) for place in range(ring.elements)}
    hops = reads = additions = 0
    for place, chunks in handled.items():
        assert sorted(chunks) == list(range(ring.elements))
        assert chunks[-1] == place
        link = after[place]
        # what an element sends n-th, the next one handles as its (n + 1)-th
        assert handled[link.target][1:] == chunks[:-1]
        hops += (ring.elements - 1) * ring.chunk * abs(link.target - link.source)
        hops += (ring.elements - 1) * ring.chunk  # its own chunk to all others along the way
        reads += ring.values + ring.chunk * ((place > 0) + (place < ring.elements - 1))
        additions += ring.values - ring.chunk
    assert (ring.hops, ring.reads, ring.additions) == (hops, reads, additions)
    assert ring.writes == ring.elements * ring.values
    pairs = RingReduction(Snake(columns, rows), 2 * ring.values, 2)
    assert (pairs.hops, pairs.chunk, pairs.additions) == (ring.hops, 6, 2 * ring.additions)


def test_an_element_receives_and_sends_on_two_colors() -> None:
    for elements in range(2, 9):
        assert all(came != goes for came, goes in link_colors(elements).values())


def test_a_ring_needs_a_chunk_for_each_element() -> None:
    assert fits_ring(4, 8)
    assert not fits_ring(4, 6)
    assert not fits_ring(1, 8)
    assert not fits_ring(2 * MOST_IN_RING, 2 * MOST_IN_RING)


def test_a_search_tries_rings_where_routes_are_few() -> None:
    chain = [reduction_scheme("chain")]
    assert shared_schemes(chain, (4, 1), 64, 8) == ["all_reduce(chain)", "all_reduce(ring)"]
    assert shared_schemes(chain, (4, 1), 64, 6) == ["all_reduce(chain)"]
    assert shared_schemes(chain, (4, 1), 2 * MOST_WINDING, 8) == ["all_reduce(chain)"]
