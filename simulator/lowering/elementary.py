"""Formulas as scalar instructions in the body of a map, with exp, log, sigmoid and tanh.

The machine has no instructions for exp, log, sigmoid and tanh; those of floats are the usual
reductions of the argument with a polynomial (Muller, Elementary Functions, §11), so their cycles
are those of the instructions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from math import log
from typing import Final

from tilewright.mapper.grid.number_types import NumberTypes
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import MissingInstruction
from tilewright.mapper.workload.formulas.expression import expression, joins_by_max
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Element, Ref

Value = str | float


@dataclass(frozen=True, slots=True)
class FloatForm:
    """What the functions need to know of a float type.

    `ln2_high`: ln 2 up to so few bits that its products with exponents are exact. `shift`: more
    than the least exponent: a sum with it is positive, so that cutting it rounds down. `least`,
    `most`: arguments of exp beyond which it is 0 or infinite. `terms`: degree of the polynomial of
    exp; `odd_terms`: terms of the series of atanh. `fraction`: bits of the fraction; `bias`: of the
    exponent; `bits`: type of the bits.
    """

    dtype: str
    ln2_high: float
    shift: int
    least: float
    most: float
    terms: int
    odd_terms: int
    fraction: int
    bias: int
    bits: str


FORMS: Final = {
    "f32": FloatForm("f32", 0.693359375, 256, -104.0, 89.0, 7, 7, 23, 127, "u32"),
    "f16": FloatForm("f16", 0.6875, 32, -18.0, 12.0, 5, 4, 10, 15, "u16"),
}
_LOG2_E: Final = 1 / log(2)


@dataclass(frozen=True, slots=True)
class FunctionSteps:
    """Append the instructions of a function to a task, each into a counter of its own.

    `numbers`: of the counters `value<n>` that are free; `form`: of the type of the values.
    """

    task: TaskBuilder
    numbers: Iterator[int]
    form: FloatForm

    def step(self, operation: str, *sources: Value, dtype: str | None = None) -> str:
        """Append an instruction; return the counter of its result."""
        target = f"value{next(self.numbers)}"
        self.task.compute(target, operation, *sources, dtype=dtype or self.form.dtype)
        return target

    def exp(self, x: str) -> str:
        """Append exp(x) = 2^k exp(r) with k = round(x / ln 2) and |r| <= ln(2) / 2.

        `x`: counter of the argument. Returns the counter of the result. exp(r) is its Taylor
        polynomial, whose error is below a roundoff; arguments far below 0 give 0, far above it
        infinity.
        """
        form, step = self.form, self.step
        x = step("min", step("max", x, form.least), form.most)
        shifted = step("add", step("mul", x, _LOG2_E), form.shift + 0.5)
        power = step("sub", step("to_int", shifted), form.shift, dtype="i32")
        turns = step("from_int", power)
        rest = step("sub", x, step("mul", turns, form.ln2_high))
        rest = step("sub", rest, step("mul", turns, log(2) - form.ln2_high))
        value: Value = 1.0
        for degree in range(form.terms, 0, -1):  # 1 + r/1 (1 + r/2 (1 + r/3 ...))
            scaled = step("mul", value, step("mul", rest, 1 / degree))
            value = step("add", scaled, 1.0)
        return step("scale", value, power)

    def log(self, x: str) -> str:
        """Append log(x) = e ln 2 + 2 atanh((m - 1) / (m + 1)) with x = m 2^e and 1 <= m < 2.

        `x`: counter of the argument, a positive normal number. Returns the counter of the result.
        The series of atanh ends where its error is below a roundoff.
        """
        form, step = self.form, self.step
        mantissa = step("norm", x)
        bits = step("shr", x, form.fraction, dtype=form.bits)
        exponent = step("from_int", step("sub", bits, form.bias, dtype="i32"))
        above = step("sub", mantissa, 1.0)
        quotient = step("div", above, step("add", mantissa, 1.0))
        square = step("mul", quotient, quotient)
        value: Value = 1 / (2 * form.odd_terms - 1)
        for degree in range(2 * form.odd_terms - 3, 0, -2):
            value = step("add", step("mul", value, square), 1 / degree)
        twice = step("mul", step("add", quotient, quotient), value)
        return step("add", twice, step("mul", exponent, log(2)))

    def sigmoid(self, x: str) -> str:
        """Append sigmoid(x) = 1 / (1 + exp(-x)).

        `x`: counter of the argument. Returns the counter of the result.
        """
        power = self.exp(self.step("sub", 0.0, x))
        return self.step("div", 1.0, self.step("add", power, 1.0))

    def tanh(self, x: str) -> str:
        """Append tanh(x) = 1 - 2 / (1 + exp(2 x)); its error is absolute, not relative, near 0.

        `x`: counter of the argument. Returns the counter of the result.
        """
        power = self.exp(self.step("add", x, x))
        quotient = self.step("div", 2.0, self.step("add", power, 1.0))
        return self.step("sub", 1.0, quotient)


ELEMENTARY: Final[dict[str, Callable[[FunctionSteps, str], str]]] = {
    "exp": FunctionSteps.exp,
    "log": FunctionSteps.log,
    "sigmoid": FunctionSteps.sigmoid,
    "tanh": FunctionSteps.tanh,
}
"""What appends the instructions of each function."""
COMPUTE: Final = "compute"
"""Label of the operations that compute points of the iteration space."""
ROUNDINGS: Final = 4
"""No function errs by more than so many roundings: relative for exp, absolute for the others."""
FLOATS: Final = tuple(FORMS)
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
        case ast.Call(func=ast.Name(id=function), args=[operand]) if (
            function in ELEMENTARY and dtype in FORMS
        ):
            argument = f"value{next(numbers)}"
            task.compute(argument, "mov", _emit(task, operand, dtype, numbers), dtype=dtype)
            return ELEMENTARY[function](FunctionSteps(task, numbers, FORMS[dtype]), argument)
    name, operands = _instruction(node, dtype)
    values = [_emit(task, operand, dtype, numbers) for operand in operands]
    target = f"value{next(numbers)}"
    task.compute(target, name, *values, dtype=dtype)
    return target


def _instruction(node: ast.expr, dtype: str) -> tuple[str, list[ast.expr]]:
    """Return the scalar instruction that computes an operation of a formula, and its operands."""
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if dtype in FLOATS or not isinstance(
            operator, ast.Div
        ):
            return _BINARY[type(operator)], [left, right]
        case ast.UnaryOp(operand=operand):
            return "sub", [ast.Constant(0.0), operand]
        case ast.Call(func=ast.Name(id="max"), args=[left, right]):
            return "max", [left, right]
        case ast.Call(func=ast.Name(id="relu"), args=[operand]):
            return "max", [operand, ast.Constant(0.0)]
        case ast.Call(func=ast.Name(id="square"), args=[operand]):
            return "mul", [operand, operand]
        case ast.Call(func=ast.Name(id="sqrt"), args=[operand]) if dtype in FLOATS:
            return "sqrt", [operand]
    raise MissingInstruction(
        f"there are no instructions for {_named(node)} of {dtype}",
        instead="+ - *, max, relu, square; of floats / and sqrt exp log sigmoid tanh, too",
    )


def _named(node: ast.expr) -> str:
    """Return words for the outermost part of a formula."""
    match node:
        case ast.Call(func=ast.Name(id=function)):
            return function
        case ast.BinOp(op=ast.Div()):
            return "a quotient"
    return ast.unparse(node)


def scalar_steps(einsum: Einsum, numbers: NumberTypes, *, has_scalar: bool = False) -> int:
    """Return the number of scalar instructions that a map of an Einsum runs for each point.

    `has_scalar`: whether one input is a single value, which is loaded before. Raises
    InfeasibleMapping for a function without instructions.
    """
    task = TaskBuilder("formula")
    emit_value(task, expression(einsum), numbers.computed)
    return len(task.body) + max(0, len(numbers.converted) - has_scalar) + 1


def map_formula(
    task: TaskBuilder, read: SpaceTime, output: Ref, inputs: list[Ref | Element], *, first: bool
) -> None:
    """Append the formula of an Einsum as a map; a value of the register is loaded once before it.

    It computes in f32 or i32 if any tensor has it: inputs of f16 become f32 first, and an output of
    f16 at the end; integers of 16 bits are taken as they are, and stored without their upper bits.
    `first`: the output has no values yet.
    """
    numbers, tree = read.numbers, expression(read.einsum)
    dtype = numbers.computed
    halves = [tensor.name in numbers.converted for tensor in read.inputs]
    _load_scalars(task, read, inputs, halves)
    vectors = {n: operand for n, operand in enumerate(inputs) if isinstance(operand, Ref)}
    sums = [] if first else [("before", output)]
    named = [(f"half{n}" if halves[n] else f"_{n}", operand) for n, operand in vectors.items()]
    with task.map(*named, *sums, output=("after", output), label=COMPUTE):
        for number in vectors:
            if halves[number]:
                task.compute(f"_{number}", "from_half", f"half{number}", dtype=dtype)
        value = emit_value(task, tree, dtype)
        narrows = (numbers.output, dtype) == ("f16", "f32")
        if first:
            store = "to_half" if narrows else "mov"
            task.compute("after", store, value, dtype=numbers.output)
        elif narrows:  # number_types: a maximum, which is the same before and after rounding
            task.compute("rounded", "to_half", value, dtype="f16")
            task.compute("after", "max", "before", "rounded", dtype="f16")
        else:
            joining = "max" if joins_by_max(read.einsum) else "add"
            task.compute("after", joining, "before", value, dtype=dtype)


def _load_scalars(
    task: TaskBuilder, read: SpaceTime, inputs: list[Ref | Element], halves: list[bool]
) -> None:
    """Load the operands that are single values, as f32 if they are f16 (`halves`)."""
    for number, (operand, is_half) in enumerate(zip(inputs, halves, strict=True)):
        if isinstance(operand, Element):
            dtype = "f32" if is_half else read.dtype_of(operand.buffer)
            task.compute(f"_{number}", "from_half" if is_half else "mov", operand, dtype=dtype)
