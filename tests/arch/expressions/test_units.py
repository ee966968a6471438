"""Quantities with units in files, and number formats by name."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.expressions.expressions import evaluate
from tilewright.arch.expressions.units import UNITS, is_bit_rate, unit_of, without_units
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.number_format import bits_of_format
from tilewright.arch.quantities import with_unit
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """
arch:
  variables: {clock: 1 GHz}
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0
    actions:
    - {name: read, energy: 4 pJ, throughput: 64 Gbit/s, bits_per_action: 64 bit}
    - {name: write, energy: 4 pJ, throughput: 8 GB/s, bits_per_action: 8}
  - !Memory
    name: BUF
    size: 256 KiB
    area: 0.5 mm^2
    leak_power: 3 mW
    bits_per_value: {A: bfp8, Other: 2 B}
    actions:
    - {name: read, energy: 0.2pJ, latency: 1 / clock}
    - {name: write, energy: 0.2 pJ, latency: 2 ns}
  - !Compute
    name: MAC
    area: 10 µm²
    leak_power: 1 uW
    actions: [{name: compute, energy: 0.1 pJ, throughput: clock}]
"""
WORKLOAD = load_workload(
    "workload:\n  rank_sizes: {M: 4, K: 6}\n  bits_per_value: {A: bf16, B: int8, Z: 32 bit}\n"
    '  einsums: ["Z[m] = A[m, k] * B[k]"]\n'
)


def test_quantities_of_an_architecture() -> None:
    (flat,) = flatten(load_arch(ARCH), WORKLOAD.scope("Z"))
    dram, buffer, mac = flat.components
    assert [action.energy for action in dram.actions] == [4e-12, 4e-12]
    assert [action.throughput for action in dram.actions] == [1e9, 8e9]
    assert (buffer.size, buffer.area, buffer.leak_power) == (256 * 8192, 0.5e-6, 3e-3)  # type: ignore[attr-defined]
    assert [action.throughput for action in buffer.actions] == pytest.approx([1e9, 5e8])
    assert buffer.actions[0].energy == 0.2e-12  # the nearest float, not 0.2 * 1e-12
    assert buffer.bits_per_value == {"A": Fraction(17, 2), "B": 16, "Z": 16}  # type: ignore[attr-defined]
    assert (mac.area, mac.leak_power, mac.actions[0].throughput) == (10e-12, 1e-6, 1e9)


def test_number_formats_of_a_workload() -> None:
    (einsum,) = WORKLOAD.einsums
    assert {a.tensor: a.bits_per_value for a in einsum.accesses} == {"Z": 32, "A": 16, "B": 8}
    names = {"bf16": 16, "fp16": 16, "float32": 32, "fp8": 8, "int4": 4, "i8": 8, "fp4": 4}
    assert {name: bits_of_format(name) for name in names} == names
    assert bits_of_format("bfp4") == Fraction(9, 2)
    assert bits_of_format("bf17") is None
    assert bits_of_format(8) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * 3 KiB + 1 B", 2 * 3 * 8192 + 8),
        ("1e3 ns", 1e-6),
        ("1.5 MiB", 1.5 * 2**23),
        ("1 kB", 8000),
        ("3 if 2 GHz > 1 MHz else 4", 3),
        ("len('64 B')", 4),
        ("7", 7),
    ],
)
def test_quantities_inside_expressions(text: str, value: float) -> None:
    assert evaluate(text, {}) == value


def test_plain_texts_stay_as_they_are() -> None:
    for text in ("x if y else 3", "2*m", "a2 + 1", "1e-9", "'10 mm^2'", "0x10"):
        assert without_units(text) == text
        assert unit_of(text) is None
    assert not is_bit_rate("1 GHz")
    assert is_bit_rate("8 * 614 GB/s")


@pytest.mark.parametrize(
    ("old", "new", "what", "instead"),
    [
        ("256 KiB", "256 kJ", "size has no unit of energy", "256 KiB"),
        ("4 pJ, throughput: 64", "4 ns, throughput: 64", "has no unit of time", "0.2 pJ"),
        ("256 KiB", "256 KB", "there is no unit KB", "kB"),
        ("3 mW", "3 mWh", "there is no unit mWh", "mW"),
    ],
)
def test_a_unit_that_cannot_be(old: str, new: str, what: str, instead: str) -> None:
    with pytest.raises(SpecError) as refused:
        flatten(load_arch(ARCH.replace(old, new)), WORKLOAD.scope("Z"))
    assert what in str(refused.value)
    assert instead in str(refused.value)


@pytest.mark.parametrize(
    ("value", "unit"),
    [(3.42e-6, "J"), (2e-9, "s"), (5e-4, "m²"), (256 * 8192.0, "bit"), (1.5e-3, "W"), (64, "bit")],
)
def test_what_is_printed_can_be_written(value: float, unit: str) -> None:
    text = with_unit(value, unit)
    assert evaluate(text, {}) == pytest.approx(value, rel=1e-3)
    assert unit_of(text) is not None
    assert all(name == known.name for name, known in UNITS.items())
