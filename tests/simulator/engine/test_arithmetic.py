"""Arithmetic on bits against exact rational arithmetic and numpy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile.columns import TYPE_F16, TYPE_F32, TYPE_INT16
from tilewright.simulator.engine.values.arithmetic import combine, f16_to_f32, f32_to_f16, fma_f32
from tilewright.simulator.engine.values.scalar import scaled
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operations import ADD, FMA, MUL, OPERATIONS, SUB
from tilewright.simulator.isa.scalars import NORM, SCALE
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

F32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
F16 = st.floats(width=16, allow_nan=False, allow_infinity=False)


def bits32(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def bits16(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


def round_to(value: Fraction, precision: int, lowest: int, largest: Fraction) -> Fraction | None:
    """Round to nearest even with `precision` bits and exponents from `lowest`; None: overflow."""
    if value == 0:
        return value
    sign, size = (-1, -value) if value < 0 else (1, value)
    exponent = lowest
    while size >= Fraction(2) ** (exponent + precision):
        exponent += 1
    unit = Fraction(2) ** exponent
    steps = size / unit
    whole = steps.numerator // steps.denominator
    rest = steps - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    rounded = whole * unit
    return None if rounded > largest else sign * rounded


@given(F32, F32, F32)
def test_fma_f32_rounds_once(a: float, b: float, c: float) -> None:
    largest = Fraction(float(np.finfo(np.float32).max))
    exact = Fraction(a) + Fraction(b) * Fraction(c)
    expected = round_to(exact, 24, -149, largest)
    found = np.uint32(fma_f32(bits32(a), bits32(b), bits32(c))).view(np.float32)
    if expected is None:
        assert np.isinf(found)
    else:
        assert Fraction(float(found)) == expected


def test_fma_f32_where_two_roundings_differ() -> None:
    """1 + 2^-24 + 2^-60: rounding to f64 first loses what decides the tie."""
    left, right = np.float32(1 + 2**-12), np.float32(1 - 2**-12)
    addend = np.float32(2**-24 + 2**-47)
    exact = Fraction(float(addend)) + Fraction(float(left)) * Fraction(float(right))
    found = np.uint32(fma_f32(bits32(addend), bits32(left), bits32(right))).view(np.float32)
    assert Fraction(float(found)) == round_to(exact, 24, -149, Fraction(2) ** 127)
    tiny = fma_f32(bits32(2.0**-60), bits32(1 + 2**-23), bits32(0.5 + 2**-23))
    product = (1 + Fraction(2) ** -23) * (Fraction(1, 2) + Fraction(2) ** -23)
    expected = round_to(product + Fraction(2) ** -60, 24, -149, Fraction(2) ** 127)
    assert Fraction(float(np.uint32(tiny).view(np.float32))) == expected


@given(F16, F16, F16)
def test_fma_f16_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) + Fraction(b) * Fraction(c)
    expected = round_to(exact, 11, -24, Fraction(65504))
    found = np.uint16(combine(FMA, TYPE_F16, (bits16(a), bits16(b), bits16(c)))).view(np.float16)
    if expected is None:
        assert np.isinf(found)
    else:
        assert Fraction(float(found)) == expected


@pytest.mark.parametrize("bits", [0, 1, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x8001, 0xFC00])
def test_f16_to_f32_edges(bits: int) -> None:
    assert f16_to_f32(bits) == np.uint16(bits).view(np.float16).astype(np.float32)


def test_every_finite_f16_survives_the_way_through_f32() -> None:
    patterns = [b for b in range(1 << 16) if b & 0x7C00 != 0x7C00]
    assert [f32_to_f16(f16_to_f32(bits)) for bits in patterns] == patterns


@given(F32)
def test_f32_to_f16_rounds_like_numpy(value: float) -> None:
    with np.errstate(over="ignore", under="ignore"):
        expected = int(np.float32(value).astype(np.float16).view(np.uint16))
    assert f32_to_f16(np.float32(value)) == expected


@pytest.mark.parametrize(("code", "ufunc"), [(ADD, np.add), (SUB, np.subtract), (MUL, np.multiply)])
@given(pair=st.tuples(F32, F32), half=st.tuples(F16, F16))
def test_two_operand_arithmetic_equals_numpy(
    code: int, ufunc: np.ufunc, pair: tuple[float, float], half: tuple[float, float]
) -> None:
    with np.errstate(all="ignore"):
        expected = bits32(ufunc(np.float32(pair[0]), np.float32(pair[1])))
        small = bits16(ufunc(np.float16(half[0]), np.float16(half[1])))
    assert combine(code, TYPE_F32, (bits32(pair[0]), bits32(pair[1]), 0)) == expected
    assert combine(code, TYPE_F16, (bits16(half[0]), bits16(half[1]), 0)) == small


@given(st.integers(0, 65535), st.integers(0, 65535))
def test_int16_wraps(a: int, b: int) -> None:
    assert combine(ADD, TYPE_INT16, (a, b, 0)) == (a + b) % 65536
    assert combine(SUB, TYPE_INT16, (a, b, 0)) == (a - b) % 65536


def run_operation(name: str, dtypes: tuple[str, ...], sources: list[np.ndarray]) -> np.ndarray:  # type: ignore[type-arg]
    """Run a DSD operation on vectors; a scalar operand is a vector of one."""
    b = ProgramBuilder(name, 1, 1)
    code = b.code("main")
    words = max(source.size for source in sources)
    operands: list[object] = []
    for number, (dtype, source) in enumerate(zip(dtypes[1:], sources, strict=True)):
        code.buffer(f"s{number}", dtype, source.size)
        code.mem1d(f"v{number}", f"s{number}", source.size)
        is_scalar = source.size == 1 and words > 1
        operands.append(code.element(f"s{number}") if is_scalar else f"v{number}")
    code.buffer("out", dtypes[0], words)
    code.mem1d("all", "out", words)
    code.task("main", entry=True).op(name, "all", *operands)  # type: ignore[arg-type]
    b.place("main", Area(0, 0))
    memory = {f"s{n}": source[None, None] for n, source in enumerate(sources)}
    result = Machine(b.build(), load_profile("wse3-sdk-sim")).run(memory=memory)
    return np.asarray(result.memory["out"][0, 0])


BITS: dict[str, Any] = {
    "and16": np.bitwise_and,
    "or16": np.bitwise_or,
    "xor16": np.bitwise_xor,
    "sll16": np.left_shift,
    "slr16": np.right_shift,
}


@pytest.mark.parametrize("name", sorted(BITS))
def test_bit_operations(name: str) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 1 << 16, (2, 40), dtype=np.uint16)
    b = b % 16 if name.startswith("s") else b
    found = run_operation(name, ("u16", "u16", "u16"), [a, b])
    np.testing.assert_array_equal(found, BITS[name](a, b))


def test_arithmetic_shift_keeps_the_sign() -> None:
    a = np.array([-32768, -5, 5, 32767, -1], dtype=np.int16)
    by = np.array([3, 1, 1, 15, 20], dtype=np.int16)
    found = run_operation("sar16", ("i16", "i16", "i16"), [a, by])
    assert found.tolist() == [-4096, -3, 2, 0, -1]


def test_counting_bits() -> None:
    a = np.array([0, 1, 0x8000, 0xFFFF, 0x0F10], dtype=np.uint16)
    texts = [f"{value:016b}" for value in a.tolist()]
    assert run_operation("popcnt", ("u16", "u16"), [a]).tolist() == [t.count("1") for t in texts]
    leading = [len(t) - len(t.lstrip("0")) for t in texts]
    assert run_operation("clz", ("u16", "u16"), [a]).tolist() == leading
    trailing = [len(t) - len(t.rstrip("0")) for t in texts]
    assert run_operation("ctz", ("u16", "u16"), [a]).tolist() == trailing


def test_conversions() -> None:
    x = np.array([11.2, -10.8, 0.5, -0.5, 1e-8, 2048.5], dtype=np.float32)
    h = x.astype(np.float16)
    for name, source, dtypes in (("fs2xp16", x, ("i16", "f32")), ("fh2xp16", h, ("i16", "f16"))):
        assert run_operation(name, dtypes, [source]).tolist() == [11, -10, 0, 0, 0, 2048]
    np.testing.assert_array_equal(run_operation("fs2h", ("f16", "f32"), [x]), h)
    np.testing.assert_array_equal(run_operation("fh2s", ("f32", "f16"), [h]), h.astype(np.float32))
    i = np.array([-32768, -1, 0, 2049, 32767], dtype=np.int16)
    np.testing.assert_array_equal(run_operation("xp162fs", ("f32", "i16"), [i]), i)
    np.testing.assert_array_equal(run_operation("xp162fh", ("f16", "i16"), [i]), i.astype("f2"))


def test_mixed_multiply_add_adds_in_f32() -> None:
    rng = np.random.default_rng(2)
    a = rng.standard_normal(30).astype(np.float32)
    b = rng.standard_normal(30).astype(np.float16)
    scalar = np.array([1.37], dtype=np.float16)
    found = run_operation("fmachs", ("f32", "f32", "f16", "f16"), [a, b, scalar])
    product = b.astype(np.float32) * scalar.astype(np.float32)
    np.testing.assert_array_equal(found, a + product)


def test_mixed_addition_takes_the_half_on_either_side() -> None:
    rng = np.random.default_rng(3)
    h = rng.standard_normal(20).astype(np.float16)
    s = rng.standard_normal(20).astype(np.float32)
    expected = h.astype(np.float32) + s
    np.testing.assert_array_equal(run_operation("faddhs", ("f32", "f16", "f32"), [h, s]), expected)
    np.testing.assert_array_equal(run_operation("faddhs", ("f32", "f32", "f16"), [s, h]), expected)
    one = np.array([0.25], dtype=np.float16)
    for order in ([one, s], [s, one]):
        dtypes = ("f32", *("f16" if a is one else "f32" for a in order))
        np.testing.assert_array_equal(run_operation("faddhs", dtypes, order), s + np.float32(0.25))


def scalars(name: str, dtype: str, *values: float) -> float:
    """Run an operation without descriptors: the destination is element 0, the sources follow."""
    b = ProgramBuilder(name, 1, 1)
    code = b.code("main")
    code.buffer("x", dtype, 2)
    code.buffer("n", "i16", 1)
    main = code.task("main", entry=True)
    sources = [code.element("x", 1), code.element("n")][: len(values)]
    main.op(name, code.element("x"), *sources)
    b.place("main", Area(0, 0))
    memory = {"x": np.array([0, values[0]])[None, None]}
    if len(values) > 1:
        memory["n"] = np.array(values[1:], dtype=np.int16)[None, None]
    result = Machine(b.build(), load_profile("wse3-sdk-sim")).run(memory=memory)
    return float(result.memory["x"][0, 0, 0])


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_norm_and_scale(dtype: str) -> None:
    letter = {"f32": "s", "f16": "h"}[dtype]
    for value, expected in ((12.0, 1.5), (-0.375, -1.5), (1.0, 1.0), (0.0, 0.0), (6e-8, 1.0)):
        if dtype == "f16" or value != 6e-8:
            assert scalars(f"fnorm{letter}", dtype, value) == expected
    assert scalars(f"fscale{letter}", dtype, 1.5, 3) == 12.0
    assert scalars(f"fscale{letter}", dtype, -1.5, -2) == -0.375
    assert scalars(f"fscale{letter}", dtype, 1.0, 32767) == np.inf
    assert scalars(f"fscale{letter}", dtype, 1.0, -32768) == 0.0
    smallest = {"f32": 2.0**-149, "f16": 2.0**-24}[dtype]
    power = {"f32": -149, "f16": -24}[dtype]
    assert scalars(f"fscale{letter}", dtype, 1.5, power) == 2 * smallest  # to even
    assert scalars(f"fscale{letter}", dtype, 0.5, power) == 0.0  # to even


def test_conversion_into_a_pointer() -> None:
    b = ProgramBuilder("pointer", 1, 1)
    code = b.code("main")
    code.buffer("n", "i16", 2)
    main = code.task("main", entry=True)
    main.op("fs2xp16", code.element("n", 1), -10.8)
    b.place("main", Area(0, 0))
    result = Machine(b.build(), load_profile("wse3-sdk-sim")).run()
    assert result.memory["n"][0, 0].tolist() == [0, -10]


@given(st.integers(0, (1 << 128) - 1), st.integers(0, (1 << 128) - 1))
def test_addition_with_carry_adds_long_numbers(a: int, b: int) -> None:
    words = [[n >> 16 * i & 0xFFFF for i in range(9)] for n in (a, b)]
    found = run_operation("addc16", ("u16", "u16", "u16"), [np.array(w, "u2") for w in words])
    assert sum(int(word) << 16 * i for i, word in enumerate(found.tolist())) == a + b


def test_every_operation_counts_like_its_table_row() -> None:
    """Every operation of wafer.md §6.1 is there with the legal forms of that table."""
    binary = ["DDD", "DvD", "DDv"]
    integer = "add16 addc16 and16 or16 xor16 sll16 slr16 sar16"
    table = dict.fromkeys(integer.split(), binary)
    table |= {"sub16": ["DDD", "DDv"]}
    unary = "clz ctz popcnt fabsh fabss fnegh fnegs fh2s fs2h xp162fh xp162fs"
    table |= {name: ["DD", "Dv"] for name in unary.split()}
    table |= {name: ["DD", "pD", "Dv"] for name in ["mov16", "mov32", "fmovh", "fmovs"]}
    floats = "faddh fsubh fmulh fmaxh fadds fsubs fmuls fmaxs faddhs"
    table |= {name: [*binary, "pvD"] for name in floats.split()}
    table |= {name: ["DDDv"] for name in ["fmach", "fmacs", "fmachs"]}
    table |= {name: ["DD", "Dv", "pv"] for name in ["fh2xp16", "fs2xp16"]}
    table |= {"fnormh": ["pv"], "fnorms": ["pv"], "fscaleh": ["pvv"], "fscales": ["pvv"]}
    table |= {"dfilt": ["D"]}
    assert {name: sorted(row.forms) for name, row in OPERATIONS.items()} == {
        name: sorted(forms) for name, forms in table.items()
    }


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_illegal_forms_are_named(name: str) -> None:
    """Every form of up to four operands that the table does not have is refused by name."""
    row = OPERATIONS[name]
    for form in map("".join, product("Dvp", repeat=len(row.forms[0]))):
        if form in row.forms or "p" in form[1:]:
            continue
        b = ProgramBuilder("forms", 1, 1)
        code = b.code("main")
        code.buffer("b", row.dtype, 2)
        code.mem1d("d", "b", 2)
        operands: dict[str, Any] = {"D": "d", "v": 0, "p": code.element("b")}
        code.task("main", entry=True).op(name, *(operands[letter] for letter in form))
        b.place("main", Area(0, 0))
        with pytest.raises(ProgramError) as caught:
            b.build()
        assert f"@{name}: illegal operands" in str(caught.value)
        assert caught.value.value == form


def test_norm_and_scale_of_any_bits() -> None:
    """Beside the functions frexp and ldexp of the standard library."""
    plain: Any = getattr(scaled, "py_func", scaled)
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 1 << 32, 3000, dtype=np.uint64).astype(np.uint32)
    bits[:40] = [1, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF] * 8  # subnormal, least, greatest
    for value, by in zip(
        bits.view(np.float32), rng.integers(-450, 450, 3000).tolist(), strict=True
    ):
        if not math.isfinite(value):
            continue
        assert plain(NORM, value, 0) == 2 * math.frexp(value)[0]
        assert plain(SCALE, value, by) == math.ldexp(value, min(max(by, -400), 400))
    assert plain(NORM, np.float32(-np.inf), 0) == -np.inf
    assert np.isnan(plain(NORM, np.float32(np.nan), 0))
    for value in (2.0**-149, 3 * 2.0**-140, np.inf):
        expected = 2 * math.frexp(value)[0] if value < np.inf else value
        assert scalars("fnorms", "f32", value) == expected
