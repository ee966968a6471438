"""The formula of one point as scalar instructions in the body of a map."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import count

from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.build.program_builder import TaskBuilder
from tilewright.simulator.lowering.elementary import ELEMENTARY

_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
Value = str | float


def emit_value(task: TaskBuilder, tree: ast.expr, dtype: str) -> Value:
    """Append the instructions that compute a formula; return the counter, or number, of its value.

    `tree`: the formula with counters `_0`, `_1`, … for the inputs. Counters `value0`, `value1`, …
    hold what lies between. Raises InfeasibleMapping for a function that the machine has not.
    """
    return _emit(task, tree, dtype, count())


def _emit(task: TaskBuilder, node: ast.expr, dtype: str, numbers: Iterator[int]) -> Value:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.BinOp(left=left, op=operator, right=right):
            name, operands = _BINARY[type(operator)], [left, right]
        case ast.UnaryOp(operand=operand):
            name, operands = "sub", [ast.Constant(0.0), operand]
        case ast.Call(func=ast.Name(id="max"), args=[left, right]):
            name, operands = "max", [left, right]
        case ast.Call(func=ast.Name(id="relu"), args=[operand]):
            name, operands = "max", [operand, ast.Constant(0.0)]
        case ast.Call(func=ast.Name(id="square"), args=[operand]):
            name, operands = "mul", [operand, operand]
        case ast.Call(func=ast.Name(id="sqrt"), args=[operand]):
            name, operands = "sqrt", [operand]
        case ast.Call(func=ast.Name(id=function), args=[operand]) if (
            function in ELEMENTARY and dtype == "f32"
        ):
            argument = f"value{next(numbers)}"
            task.compute(argument, "mov", _emit(task, operand, dtype, numbers), dtype=dtype)
            return ELEMENTARY[function](task, argument, numbers)
        case _:
            function = node.func.id if isinstance(node, ast.Call) else ast.unparse(node)  # type: ignore[attr-defined]
            raise InfeasibleMapping(
                f"there are no instructions for {function} of {dtype}",
                instead="+ - * /, max, relu, square, sqrt; exp, log, sigmoid, tanh of f32",
            )
    values = [_emit(task, operand, dtype, numbers) for operand in operands]
    target = f"value{next(numbers)}"
    task.compute(target, name, *values, dtype=dtype)
    return target
