"""Einsums that fit one by one and not together."""

from __future__ import annotations

import re

import pytest
from explore import at_night
from nodes import arch_text, mac, memory

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain import subject, together
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import NoFeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory("DRAM", "inf", "keep: ~Intermediates", (100, 16), (110, 8)),
    memory("BUF", "SIZE", "keep: ~DRAM, RULES", (5, 256), (6, 128)),
    mac(0.5),
)
WORK = load_workload("""
workload:
  rank_sizes: {M: 2, N: 2}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m, n] = A[m] * B[n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "X[m] = Y[m, n] * C[n]", renames: {input: Y, weight: C, output: X}}
""")


def arch(size: int, rules: str = "may_keep: All") -> Arch:
    return load_arch(ARCH.replace("SIZE", str(size)).replace("RULES", rules))


def test_room_for_what_is_exchanged() -> None:
    with pytest.raises(NoFeasibleMapping) as caught:
        search(arch(7), WORK)
    text = str(caught.value)
    assert "DRAM may not keep Y" in text
    assert "BUF has 7 bit" in text
    found = re.search(r"BUF\.size: (\d+) \(now 7\)", text)
    assert found is not None
    least = int(found.group(1))
    assert search(arch(least), WORK).on_chip == ("Y",)
    assert least == 7 + 1  # the search above has shown that 7 are too few
    allowed = arch(7).with_values({"DRAM.tensors.may_keep": "All"})
    assert search(allowed, WORK).certificate.value > 0


def test_the_einsum_that_fails_alone_is_named() -> None:
    with pytest.raises(NoFeasibleMapping, match="no mapping of X fits") as caught:
        search(arch(512, "may_keep: All, tile_shape: [{expression: C, operator: ==, value: 3}]")
               .with_values({"BUF.tensors.keep": "~DRAM | C"}), WORK)  # fmt: skip
    assert "the tile at BUF over n (of 2): == 3" in str(caught.value)


@pytest.mark.parametrize("tiles", [24, *at_night(0, 96)])
def test_a_memory_that_stands_in_the_way_is_named_whatever_the_searches(
    tiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "TILES", tiles)
    with pytest.raises(NoFeasibleMapping) as caught:
        search(arch(7), WORK)
    assert "Y, X have mappings one by one, but none together" in str(caught.value)
    assert "BUF.size: " in str(caught.value)


@pytest.mark.parametrize("work", [0.0, *at_night(10.0, 30.0, 100.0, 300.0)])
def test_what_takes_too_long_is_left_unsaid(work: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever work is allowed, nothing false is said: X has none alone, the others have."""
    monkeypatch.setattr(subject, "WORK", work)
    rules = "may_keep: All, tile_shape: [{expression: C, operator: ==, value: 3}]"
    failing = arch(512, rules).with_values({"BUF.tensors.keep": "~DRAM | C"})
    with pytest.raises(NoFeasibleMapping) as caught:
        search(failing, WORK)
    assert str(caught.value).startswith(("no mapping of X fits", "Y, X have no mapping together"))
    assert "whatever the constraints" not in str(caught.value)
    with pytest.raises(NoFeasibleMapping) as caught:
        search(arch(7), WORK)
    assert "together" in str(caught.value)


@pytest.mark.nightly
def test_the_memory_that_is_too_small_is_part_of_the_conflict() -> None:
    """Where other rules are lifted no fused search can tell: that proves no conflict."""
    with pytest.raises(NoFeasibleMapping) as caught:
        search(arch(7, "may_keep: All").with_values({"DRAM.tensors.may_keep": "Nothing"}), WORK)
    text = str(caught.value)
    assert "These 2 constraints conflict (smallest set)" in text
    assert "DRAM may not keep Y" in text
    assert "BUF has 7 bit" in text


def test_room_for_what_is_exchanged_is_not_counted_silently() -> None:
    """That BUF must keep what DRAM does not keep says nothing while Y may be held in either."""
    with pytest.raises(NoFeasibleMapping, match="no mapping of Y fits") as caught:
        search(arch(8).with_values({"BUF.tensors.keep": "~DRAM | A | B"}), WORK)
    assert "at least 16: 8 bit for A, 8 bit for B" in str(caught.value)
    assert "What it exchanges with other Einsums (Y) may need room, too" in str(caught.value)


def test_what_is_exchanged_takes_room_in_a_memory_that_keeps_it_in_any_case() -> None:
    with pytest.raises(NoFeasibleMapping, match="no mapping of Y fits") as caught:
        search(arch(8).with_values({"BUF.tensors.keep": "All"}), WORK)
    assert "at least 16: 8 bit for Y, 8 bit for A" in str(caught.value)
    assert "may need room" not in str(caught.value)
