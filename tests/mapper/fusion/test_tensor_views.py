"""Tensors that Einsums see in several widths, or through several windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from copied_cases import workload_with_copies
from fused_cases import workload_of
from fused_example import machine, paths_of

from tilewright.arch.components.components import Memory
from tilewright.mapper.fusion.boundary.exchanged_tensors import EinsumPath, exchanged_tensors_of
from tilewright.mapper.fusion.boundary.tensor_views import (
    bounded_widths_in,
    refuse_bounded_widths,
    refuse_copied_widths,
    refuse_unclear_tiles,
    varied_widths_in,
    widths_of,
)
from tilewright.mapper.workload.errors import UnsupportedFeature
from tilewright.mapper.workload.workload import Workload

THRICE = workload_of(
    ("Y[m] = A[m] * B[m]", "X[m] = Y[m] * B[m]", "Z[m] = X[m] * B[m]"), {"m": 4}
)  # all three use B, and may share the loop over m


def seen_in_widths(workload: Workload, tensor: str, widths: Sequence[int]) -> list[EinsumPath]:
    """Return paths on which each Einsum sees a tensor in a width of its own in the buffer."""
    paths: list[EinsumPath] = []
    for (einsum, flat), width in zip(paths_of(workload, machine(64)), widths, strict=True):
        components = tuple(
            replace(c, bits_per_value={tensor: width})
            if isinstance(c, Memory) and c.name == "BUF"
            else c
            for c in flat.components
        )
        paths.append(EinsumPath(einsum, replace(flat, components=components)))
    return paths


@pytest.mark.parametrize(
    ("widths", "is_varied", "is_bounded"),
    [((2, 2, 2), False, False), ((1, 1, 2), True, False), ((1, 2, 2), True, True)],
)
def test_only_widths_before_the_last_einsum_are_bounded(
    widths: tuple[int, ...], is_varied: bool, is_bounded: bool
) -> None:
    paths = seen_in_widths(THRICE, "B", widths)
    names = [einsum.name for einsum, _ in paths]
    assert widths_of(paths, "BUF", "B") == dict(zip(names, map(float, widths), strict=True))
    exchanged = exchanged_tensors_of(THRICE, shares_tiles=False)
    assert varied_widths_in(paths, ["BUF"], exchanged) == ({"B"} if is_varied else set())
    assert bounded_widths_in(paths, ["BUF"], exchanged) == ({"B"} if is_bounded else set())
    if is_bounded:
        with pytest.raises(UnsupportedFeature, match="B, in values of 1 and 2 bits there"):
            refuse_bounded_widths(paths, "BUF", exchanged)
    else:
        refuse_bounded_widths(paths, "BUF", exchanged)


def test_where_einsums_share_tiles_no_widths_are_bounded() -> None:
    paths = seen_in_widths(THRICE, "B", (1, 2, 2))
    exchanged = exchanged_tensors_of(THRICE, shares_tiles=True)
    assert not varied_widths_in(paths, ["BUF"], exchanged)


def test_a_larger_window_that_streams_less_far_is_clear() -> None:
    """A[p] streams past loops over p, A[p + r] only into them; a tile of A[p] is never larger."""
    texts = ("Y[p] = A[W: p + r] * F[r]", "Z[p] = Y[p] * A[W: p]")
    workload = workload_of(texts, {"p": 4, "r": 2, "w": 5})
    exchanged = exchanged_tensors_of(workload)
    assert exchanged.varied_windows == {"A"}
    refuse_unclear_tiles(seen_in_widths(workload, "A", (1, 1)), "BUF", exchanged)
    with pytest.raises(UnsupportedFeature, match="A through different windows"):
        refuse_unclear_tiles(seen_in_widths(workload, "A", (1, 2)), "BUF", exchanged)


def test_a_larger_window_that_streams_further_is_refused() -> None:
    """A[2p] streams further than A[p + r]; whole, it covers 7 positions, the other one 5."""
    texts = ("Y[p] = A[W: p + r] * F[r]", "Z[p] = Y[p] * A[W: 2*p]")
    workload = workload_of(texts, {"p": 4, "r": 2, "w": 7})
    exchanged = exchanged_tensors_of(workload)
    with pytest.raises(UnsupportedFeature, match="A through different windows"):
        refuse_unclear_tiles(seen_in_widths(workload, "A", (1, 1)), "BUF", exchanged)


def test_copied_tensors_have_one_width() -> None:
    workload = workload_with_copies(("Y[m] = A[m] * B[m]", "copy X[m] = Y[m]"), {"m": 4})
    exchanged = exchanged_tensors_of(workload)
    refuse_copied_widths(seen_in_widths(workload, "Y", (1, 1)), "BUF", exchanged)
    with pytest.raises(UnsupportedFeature, match="Y, which is copied, has values of 1 and 2"):
        refuse_copied_widths(seen_in_widths(workload, "Y", (1, 2)), "BUF", exchanged)
