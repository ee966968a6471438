"""Formulas with exp, log, sigmoid and tanh as scalar instructions in the body of a map.

The machine has no instructions for exp, log, sigmoid and tanh; those of f32 are the usual
reductions of the argument with a polynomial (Muller, Elementary Functions, §11), so their cycles
are those of the instructions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import count
from math import log
from typing import Final

from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.build.task_builder import TaskBuilder

Value = str | float
Emit = Callable[[TaskBuilder, str, Iterator[int]], str]
_LOG2_E: Final = 1 / log(2)
_LN2_HIGH: Final = 0.693359375
"""ln 2 up to 10 bits, so that its products with small integers are exact."""
_LN2_LOW: Final = log(2) - 0.693359375
_SHIFT: Final = 256
"""More than the least exponent: a sum with it is positive, so that cutting it rounds down."""
_TERMS: Final = 7
_ODD_TERMS: Final = 7


def _step(
    task: TaskBuilder, numbers: Iterator[int], operation: str, *sources: str | float,
    dtype: str = "f32",
) -> str:  # fmt: skip
    target = f"value{next(numbers)}"
    task.compute(target, operation, *sources, dtype=dtype)
    return target


def emit_exp(task: TaskBuilder, x: str, numbers: Iterator[int]) -> str:
    """Append exp(x) = 2^k exp(r) with k = round(x / ln 2) and |r| <= ln(2) / 2.

    `x`: counter of the argument; `numbers`: of the counters `value<n>` that are free. Returns the
    counter of the result. exp(r) is its Taylor polynomial of degree 7, whose error is below 6e-9.
    """
    shifted = _step(task, numbers, "add", _step(task, numbers, "mul", x, _LOG2_E), _SHIFT + 0.5)
    whole = _step(task, numbers, "to_int", shifted)
    power = _step(task, numbers, "sub", whole, _SHIFT, dtype="i32")
    turns = _step(task, numbers, "from_int", power)
    rest = _step(task, numbers, "sub", x, _step(task, numbers, "mul", turns, _LN2_HIGH))
    rest = _step(task, numbers, "sub", rest, _step(task, numbers, "mul", turns, _LN2_LOW))
    value: str | float = 1.0
    for degree in range(_TERMS, 0, -1):  # 1 + r/1 (1 + r/2 (1 + r/3 ...))
        scaled = _step(task, numbers, "mul", value, _step(task, numbers, "mul", rest, 1 / degree))
        value = _step(task, numbers, "add", scaled, 1.0)
    return _step(task, numbers, "scale", value, power)


def emit_log(task: TaskBuilder, x: str, numbers: Iterator[int]) -> str:
    """Append log(x) = e ln 2 + 2 atanh((m - 1) / (m + 1)) with x = m 2^e and 1 <= m < 2.

    `x`: counter of the argument, a positive normal number; `numbers`: of the counters `value<n>`
    that are free. Returns the counter of the result. The series of atanh ends with the term of
    degree 13; its error is below 1e-8.
    """
    mantissa = _step(task, numbers, "norm", x)
    bits = _step(task, numbers, "shr", x, 23, dtype="u32")
    exponent = _step(task, numbers, "from_int", _step(task, numbers, "sub", bits, 127, dtype="i32"))
    above = _step(task, numbers, "sub", mantissa, 1.0)
    quotient = _step(task, numbers, "div", above, _step(task, numbers, "add", mantissa, 1.0))
    square = _step(task, numbers, "mul", quotient, quotient)
    value: str | float = 1 / (2 * _ODD_TERMS - 1)
    for degree in range(2 * _ODD_TERMS - 3, 0, -2):
        value = _step(task, numbers, "add", _step(task, numbers, "mul", value, square), 1 / degree)
    twice = _step(task, numbers, "mul", _step(task, numbers, "add", quotient, quotient), value)
    return _step(task, numbers, "add", twice, _step(task, numbers, "mul", exponent, log(2)))


def emit_sigmoid(task: TaskBuilder, x: str, numbers: Iterator[int]) -> str:
    """Append sigmoid(x) = 1 / (1 + exp(-x)).

    `x`: counter of the argument; `numbers`: of the counters `value<n>` that are free. Returns the
    counter of the result.
    """
    power = emit_exp(task, _step(task, numbers, "sub", 0.0, x), numbers)
    return _step(task, numbers, "div", 1.0, _step(task, numbers, "add", power, 1.0))


def emit_tanh(task: TaskBuilder, x: str, numbers: Iterator[int]) -> str:
    """Append tanh(x) = 1 - 2 / (1 + exp(2 x)); its error is absolute, not relative, near 0.

    `x`: counter of the argument; `numbers`: of the counters `value<n>` that are free. Returns the
    counter of the result.
    """
    power = emit_exp(task, _step(task, numbers, "add", x, x), numbers)
    quotient = _step(task, numbers, "div", 2.0, _step(task, numbers, "add", power, 1.0))
    return _step(task, numbers, "sub", 1.0, quotient)


ELEMENTARY: Final[dict[str, Emit]] = {
    "exp": emit_exp,
    "log": emit_log,
    "sigmoid": emit_sigmoid,
    "tanh": emit_tanh,
}
"""What appends the instructions of each function."""
ROUNDINGS: Final = 4
"""No function errs by more than so many roundings: relative for exp, absolute for the others."""
FLOATS: Final = ("f32", "f16")
_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}


def emit_value(task: TaskBuilder, tree: ast.expr, dtype: str) -> Value:
    """Append the instructions that compute a formula; return the counter, or number, of its value.

    `tree`: the formula with counters `_0`, `_1`, … for the inputs. Intermediate values are in the
    counters `value0`, `value1`, … Raises InfeasibleMapping for a function that the machine cannot
    compute.
    """
    return _emit(task, tree, dtype, count())


def _emit(task: TaskBuilder, node: ast.expr, dtype: str, numbers: Iterator[int]) -> Value:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int() | float() as number) if (
            dtype in FLOATS or float(number).is_integer()
        ):
            return float(number)
        case ast.BinOp(left=left, op=operator, right=right) if dtype in FLOATS or not isinstance(
            operator, ast.Div
        ):
            name, operands = _BINARY[type(operator)], [left, right]
        case ast.UnaryOp(operand=operand):
            name, operands = "sub", [ast.Constant(0.0), operand]
        case ast.Call(func=ast.Name(id="max"), args=[left, right]):
            name, operands = "max", [left, right]
        case ast.Call(func=ast.Name(id="relu"), args=[operand]):
            name, operands = "max", [operand, ast.Constant(0.0)]
        case ast.Call(func=ast.Name(id="square"), args=[operand]):
            name, operands = "mul", [operand, operand]
        case ast.Call(func=ast.Name(id="sqrt"), args=[operand]) if dtype in FLOATS:
            name, operands = "sqrt", [operand]
        case ast.Call(func=ast.Name(id=function), args=[operand]) if (
            function in ELEMENTARY and dtype == "f32"
        ):
            argument = f"value{next(numbers)}"
            task.compute(argument, "mov", _emit(task, operand, dtype, numbers), dtype=dtype)
            return ELEMENTARY[function](task, argument, numbers)
        case _:
            raise InfeasibleMapping(
                f"there are no instructions for {_named(node)} of {dtype}",
                instead="+ - *, max, relu, square; of floats / and sqrt, too; of f32 exp, log, "
                "sigmoid and tanh, too",
            )
    values = [_emit(task, operand, dtype, numbers) for operand in operands]
    target = f"value{next(numbers)}"
    task.compute(target, name, *values, dtype=dtype)
    return target


def _named(node: ast.expr) -> str:
    """Return words for the outermost part of a formula."""
    match node:
        case ast.Call(func=ast.Name(id=function)):
            return function
        case ast.BinOp(op=ast.Div()):
            return "a quotient"
    return ast.unparse(node)
