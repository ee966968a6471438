"""The change that a capacity failure names fits, and no smaller one of its kind does."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.capacity_failure import fullest_step, smallest_change
from tilewright.mapper.layout.packing.packing import fits

requests_of = st.lists(
    st.builds(
        BufferRequest,
        name=st.sampled_from("ABCD"),
        tile_bytes=st.integers(1, 20),
        depth=st.integers(1, 3),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda request: request.name,
)


@given(requests_of, st.integers(3, 60))
def test_the_largest_tile_fits_and_one_byte_more_does_not(
    requests: list[BufferRequest], capacity: int
) -> None:
    if fits(requests, capacity):
        return
    _, alive = fullest_step(requests)
    text = smallest_change(requests, alive, lambda others: fits(others, capacity))
    if " bytes for " not in text:
        assert not any(
            fits([replace(r, tile_bytes=1) if r is request else r for r in requests], capacity)
            for request in requests
        )
        return
    tile, name = text.split("tiles of at most ")[1].split(" bytes for ")
    for size, wanted in ((int(tile), True), (int(tile) + 1, False)):
        changed = [replace(r, tile_bytes=size) if r.name == name else r for r in requests]
        assert fits(changed, capacity) is wanted


def test_where_no_single_tile_is_enough_it_names_the_share_of_all() -> None:
    requests = [BufferRequest(name=name, tile_bytes=50, depth=2) for name in "ABC"]
    for capacity, wanted in (
        (60, "tiles of at most 21 % of these bytes"),
        (5, "tiles of at most 3 % of these bytes and depth 1 for every buffer"),
        (2, "fewer buffers alive together"),
    ):
        change = smallest_change(requests, requests, lambda others, c=capacity: fits(others, c))
        assert change == wanted
