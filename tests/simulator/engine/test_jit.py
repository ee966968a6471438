"""How kernels are compiled and called: addresses, stale caches, kernels without numba."""

from pathlib import Path

import pytest

from tilewright.simulator.engine import jit
from tilewright.simulator.engine.engine_entries import CONSTANTS


def folder_with_cache(root: Path) -> tuple[Path, Path]:
    folder = root / "engine"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "kernels.py").write_text("a = 1\n")
    for name in CONSTANTS:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("")
    compiled = folder / "__pycache__" / "kernels.py311.nbi"
    return folder, compiled


def test_compiled_kernels_stay_while_no_source_changes(tmp_path: Path) -> None:
    folder, compiled = folder_with_cache(tmp_path)
    jit.drop_stale_cache(folder)
    compiled.write_bytes(b"code")
    jit.drop_stale_cache(folder)
    assert compiled.exists()


@pytest.mark.parametrize("changed", ["engine/kernels.py", CONSTANTS[0], "called/more.py"])
def test_a_changed_source_drops_them(tmp_path: Path, changed: str) -> None:
    folder, compiled = folder_with_cache(tmp_path)
    called = tmp_path / "called"
    called.mkdir()
    (called / "more.py").write_text("b = 1\n")
    jit.drop_stale_cache(folder, called)
    compiled.write_bytes(b"code")
    (tmp_path / changed).write_text("a = 2\n")
    jit.drop_stale_cache(folder, called)
    assert not compiled.exists()


def test_an_address_keeps_all_its_bits() -> None:
    import numba

    @numba.njit
    def marked(value):
        return jit.address(value)

    assert [marked(n) for n in (0, 1, 12345, 1 << 40)] == [0, 1, 12345, 1 << 40]


@pytest.mark.skipif(jit.UNJITTED, reason="numba is switched off")
def test_a_kernel_is_called_by_its_address() -> None:
    import numba
    import numpy as np

    from tilewright.simulator.compile import columns as at
    from tilewright.simulator.engine.features import feature_address

    @numba.njit
    def call(store, memory, arguments):
        return jit.use(store, memory, at.FEATURE_RECEIVE, arguments)

    store, memory = np.zeros(1000, dtype=np.int64), np.zeros(4, dtype=np.uint32)
    assert call(store, memory, (500, 3, 9, 0)) == 0
    assert store[at.S_ERROR] == at.ERROR_FEATURE  # not loaded
    store[at.S_ERROR] = at.OK
    store[at.S_FEATURES + at.FEATURE_RECEIVE] = feature_address("arrivals", "receive")
    assert call(store, memory, (500, 3, 9, 0)) == 0  # no queue listens: nothing is taken
    assert store[at.S_ERROR] == at.OK
