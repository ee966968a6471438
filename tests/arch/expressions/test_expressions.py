"""The evaluator: Python's meaning on what is allowed, a clear refusal of the rest."""

from __future__ import annotations

import math
import pickle
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.arch.errors import ExpressionError, Where
from tilewright.arch.expressions.expressions import compile_expression, evaluate

NAMES = {"x": 3, "y": 2.5, "zero": 0, "table": {"a": 1, "b": {"c": 2}}, "row": [1, 2, 3]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1024*1024*4*8", 33554432),
        ("1 / (8 * 614e9)", 1 / (8 * 614e9)),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("7 // 2 + 7 % 2 - 2 ** 3", 7 // 2 + 7 % 2 - 2**3),
        ("max(1, x, y)", 3),
        ("min(row)", 1),
        ("sum(a * 2 for a in row if a > 1)", 10),
        ("len([a for a in range(5)])", 5),
        ("ceil(7 / 2) + floor(y)", 6),
        ("log2(1024)", 10.0),
        ("x if x > 2 else 1 / 0", 3),
        ("zero and 1 / zero", 0),
        ("1 < x < 5", True),
        ("table.b.c + table['a'] + row[-1]", 6),
        ("not x", False),
        ("2 in row", True),
        ("round(2.567, 1)", 2.6),
        ("all(a > 0 for a in row)", True),
        ("6 & 3 | 8", 10),
        ("1 << 4", 16),
        ("prod(row)", 6),
        ("'a' == 'a'", True),
        ("[a for a in row if a in (1, 3)]", (1, 3)),
        ("sum(sum(a for a in row) for b in row)", 18),
    ],
)
def test_values(text: str, value: object) -> None:
    assert evaluate(text, NAMES) == value


def test_other_values_stand_for_themselves() -> None:
    assert evaluate(3, {}) == 3
    assert evaluate(None, {}) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os').system('true')", "`__import__('os').system('true')` (column 1)"),
        ("1 + __builtins__", "`__builtins__` (column 5)"),
        ("x.__class__", "`x.__class__` (column 1)"),
        ("().__class__.__bases__[0]", "is not allowed"),
        ("lambda: 1", "`lambda: 1` (column 1) is not allowed"),
        ("f'{x}'", "is not allowed"),
        ("[*row]", "is not allowed"),
        ("{**table}", "is not allowed"),
        ("max(*row)", "is not allowed"),
        ("max(row, key=abs)", "is not allowed"),
        ("row[0:1]", "is not allowed"),
        ("{1, 2}", "is not allowed"),
        ("(y := 3)", "is not allowed"),
        ("await x", "not"),
        ("b'x'", "is not allowed"),
        ("1j", "is not allowed"),
        ("x @ y", "is not allowed"),
        ("open('f')", "there is no function open()"),
        ("row.append(1)", "is not allowed"),
        ("x +", "this is not an expression"),
        ("", "this is not an expression"),
        ("xx", "nothing is called xx here"),
        ("x.foo", "the number 3 has no .foo"),
        ("table.q", "there is no q"),
        ("row[9]", "there is no item 9"),
        ("1 / zero", "1 / 0 has no value"),
        ("1 % 0.0", "has no value"),
        ("'a' * 9", "* does not apply to the text 'a'"),
        ("'a' < 1", "< does not apply"),
        ("~1.5", "~ does not apply"),
        ("sum('abc')", "is not a list"),
        ("max()", "max() of nothing"),
        ("max", "max is a function"),
        ("2 ** 10 ** 9", "more than 1023 bits"),
        ("(0 - 8) ** 0.5", "not a real number"),
        ("1 << 10 ** 6", "out of range"),
        ("range(10 ** 9)", "more than 10000 items"),
        ("sum(a * b for a in range(9000) for b in range(9000))", "is not allowed"),
        ("sum(sum(a for a in range(9000)) for b in range(9000))", "too many steps"),
        ("sum(len((a, (row, row))) for a in range(9000))", "too many steps"),
        ("int(inf)", "int() does not apply"),
        ("log(0)", "the expression fails"),
        ("(" * 100 + "1" + ")" * 100 + " +" * 3000, "more than 2000 characters"),
        ("-" * 200 + "1", "nests deeper"),
        ("(" * 250 + "1" + ")" * 250, "this is not an expression"),
        ("\x00", "this is not an expression"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    start = time.process_time()
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES, Where("f.yaml", 3, 4, "a.b"))
    assert time.process_time() - start < 1
    assert words in caught.value.what
    assert str(caught.value.where) == "f.yaml:3:4 (a.b)"
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("x < 1 % and x > 2", "0.01 for 1 %"),
        ("x <= 2.5%", "0.025 for 2.5%"),
        ("x < 80 % of 3", "0.8 for 80 %"),
        ("x < 7 % 3 +", "allowed are"),
    ],
)
def test_a_share_in_per_cent_is_answered_with_its_number(text: str, instead: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES)
    assert (caught.value.instead or "").startswith(instead)


def test_errors_name_close_names_only() -> None:
    names = {f"name{i}": i for i in range(100)} | {"width": 1}
    with pytest.raises(ExpressionError) as caught:
        evaluate("widht", names)
    assert caught.value.instead == "did you mean width?"
    with pytest.raises(ExpressionError) as caught:
        evaluate("mx(1, 2)", names)
    assert caught.value.instead == "did you mean max?"


def test_compiled_once_and_knows_its_names() -> None:
    expression = compile_expression("max(a.n for a in rows) + b")
    assert expression is compile_expression("max(a.n for a in rows) + b")
    assert expression.free == {"rows", "b"}
    assert pickle.loads(pickle.dumps(expression)).free == expression.free


_NUMBERS = st.integers(-50, 50).map(str) | st.sampled_from(["0.5", "1e3", "x", "y", "zero"])


def _combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", "and", "or"])
    return st.one_of(
        st.tuples(inner, binary, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"(not {t})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda t: f"({t[0]} ** {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        inner.map(lambda t: f"abs({t})"),
        inner.map(lambda t: f"sum(a * {t} for a in row if a > 1)"),
        inner.map(lambda t: f"len([a for a in row if {t}])"),
    )


@settings(max_examples=125)
@given(st.recursive(_NUMBERS, _combine, max_leaves=8))
def test_same_as_python_on_what_is_allowed(text: str) -> None:
    try:
        wanted = eval(
            text,
            {"__builtins__": {"max": max, "min": min, "abs": abs, "sum": sum, "len": len}, **NAMES},
        )
    except (ZeroDivisionError, OverflowError):
        with pytest.raises(ExpressionError):
            evaluate(text, NAMES)
        return
    try:
        got = evaluate(text, NAMES)
    except ExpressionError as error:
        ours = "bits" in error.what or "deeper" in error.what
        assert ours, error  # noqa: PT017  # our limits, not Python's
        return
    assert type(got) is type(wanted)
    assert got == wanted or (math.isnan(got) and math.isnan(wanted))  # type: ignore[arg-type]


@settings(max_examples=125)
@given(st.text(alphabet="xyz0123456789.+-*/%()[]{}<>=!&|^~,:'\" _afor inelsm", max_size=60))
def test_any_text_ends_as_a_value_or_an_error(text: str) -> None:
    try:
        evaluate(text, NAMES)
    except ExpressionError as error:
        assert str(error)  # noqa: PT017  # any text may also be fine
