"""The resource that decides the time of a matrix product, against numbers done by hand."""

from dataclasses import replace

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.costs.gemm import Gemm
from tilewright.mapper.layout.costs.gemm_time import gemm_time
from tilewright.mapper.layout.machines.layout_machine import load_machine

WORMHOLE = load_machine("wormhole")
CUBE = Gemm(
    m=2048, k=2048, n=2048, grid=(8, 8), element=number_format("bf16"), fidelity="hifi4"
)  # fmt: skip


def test_each_resource_by_hand() -> None:
    """8 × 8 × 64 tile products per core; 512 tiles of 2048 bytes of each operand."""
    time = gemm_time(CUBE, WORMHOLE)
    assert time.resources == pytest.approx(
        {
            "matrix unit": 4096 * (64 + 3.5),
            "unpacker": 4096 * 2048 / 40,
            "operand 0": 512 * 2048 / 22,
            "operand 1": 512 * 2048 * (1 / 22 + 1 / 22),
            "DRAM": 2048 * 2048 * 2 / 288,
        }
    )
    assert time.limit == "matrix unit"
    assert time.cycles == pytest.approx(4750 + 4096 * 67.5)


def test_the_limit_moves() -> None:
    """Fewer bits of fidelity: the unpacker; few rows: operand 1; few columns: operand 0."""
    assert gemm_time(replace(CUBE, fidelity="hifi2"), WORMHOLE).limit == "unpacker"
    assert gemm_time(replace(CUBE, m=256), WORMHOLE).limit == "operand 1"
    assert gemm_time(replace(CUBE, n=256, fidelity="lofi"), WORMHOLE).limit == "operand 0"
    wide = replace(CUBE, m=32, n=65536, grid=(1, 64))
    assert gemm_time(wide, WORMHOLE).limit == "DRAM"


def test_data_in_dram_are_read_again_and_written() -> None:
    far = gemm_time(replace(CUBE, resident=False, passes=(2, 4)), WORMHOLE)
    assert far.resources["operand 0"] == pytest.approx(4 * 512 * 2048 * (2 / 22))
    assert far.resources["operand 1"] == pytest.approx(2 * 512 * 2048 * (2 / 22))
    assert far.write == pytest.approx(64 * 2048 / 21)


def test_machines_and_fidelities_without_rates_are_refused() -> None:
    with pytest.raises(SpecError, match="trainium1 has no memory l1"):
        gemm_time(CUBE, load_machine("trainium1"))
    with pytest.raises(SpecError, match="wse3 has no unpacker_bytes_per_cycle"):
        gemm_time(CUBE, load_machine("wse3"))
    with pytest.raises(SpecError, match="no fidelity 'hifi5'"):
        gemm_time(replace(CUBE, fidelity="hifi5"), WORMHOLE)
