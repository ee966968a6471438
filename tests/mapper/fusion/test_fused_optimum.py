"""The collector of cycles around a search."""

from __future__ import annotations

import gc

from tilewright.mapper.fusion.fused_optimum import garbage_collection_paused


def test_the_collector_is_switched_on_again() -> None:
    assert gc.isenabled()
    with garbage_collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
