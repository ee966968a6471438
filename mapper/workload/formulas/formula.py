"""What one operation of an Einsum does with the values it reads, beyond a product or a sum.

A formula has the operators + - * /, numbers, and functions of numpy; `max(…)` or `sum(…)` around
all of it says how points with the same output are joined. Example, the parts of a softmax:

    M[m] = max(S[m, n])            the largest value of each row
    E[m, n] = exp(S[m, n] - M[m])
    D[m] = E[m, n]                 a sum, as in any Einsum
    A[m, n] = E[m, n] / D[m]

An operation costs one action of the Compute, whatever its formula.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from tilewright.arch.errors import Where
from tilewright.arch.names import close_names
from tilewright.mapper.workload.errors import WorkloadError

if TYPE_CHECKING:  # numpy takes longer to load than a workload: only values need it
    import numpy as np
    from numpy.typing import NDArray

Reduction = Literal["+", "max"]
Values: TypeAlias = "NDArray[np.float64]"

_MOST_NODES = 200
_UNARY: Final = ("exp", "log", "relu", "sigmoid", "sqrt", "square", "tanh")
_JOINING: Final[Mapping[str, Reduction]] = {"max": "max", "sum": "+"}
_BINARY: Final[Mapping[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
}
"""Functions of numpy by operator."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The value of one point, and how points with the same output are joined.

    `text`: an expression in which `_0`, `_1`, … are the values of the inputs, in their order.
    `reduction`: "+" or "max"; None if the output has all variables.
    """

    text: str
    reduction: Reduction | None = None

    def value(self, inputs: Sequence[Values]) -> Values:
        """Return the value at each point; `inputs`: values of the inputs there, broadcast.

        Integers of one type stay integers, which wrap around; else values are float64.
        """
        import numpy as np

        values = np.asarray(_computed(_tree(self.text), inputs))
        return values if values.dtype.kind == "i" else values.astype(np.float64)

    def written(self, inputs: Sequence[str]) -> str:
        """Return the formula with the texts of the inputs in their places, as in a file."""
        text = self.text
        for number in reversed(range(len(inputs))):
            text = text.replace(f"_{number}", inputs[number])
        if self.reduction is None:
            return text
        return f"{'max' if self.reduction == 'max' else 'sum'}({text})"


def parse_formula(text: str, written: str, where: Where | None) -> Formula:
    """Return the formula of a text with `_0`, `_1`, … for the inputs.

    `written`: the whole Einsum, for messages. Raises WorkloadError, at `where`, for anything but
    numbers, inputs, + - * / and the functions of the field.
    """
    try:
        tree = _tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise WorkloadError(
            "this is no formula of tensors",
            where=where,
            value=written,
            instead='write it like "A[m, n] = exp(S[m, n] - M[m])"',
        ) from None
    reduction: Reduction | None = None
    match tree:
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _JOINING:
            reduction, tree = _JOINING[name], inner
    nodes = list(ast.walk(tree))
    for node in nodes:
        _check(node, written, where)
    _check_names(nodes, written, where)
    if len(nodes) > _MOST_NODES:
        raise WorkloadError("this formula is too long", where=where, value=written)
    return Formula(ast.unparse(tree), reduction)


def _tree(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


def _check(node: ast.AST, written: str, where: Where | None) -> None:
    match node:
        case ast.BinOp(op=operator) if type(operator) in _BINARY:
            return
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return
        case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]) if name in _UNARY:
            return
        case ast.Call(func=ast.Name(id="max"), args=[_, _], keywords=[]):
            return
        case ast.Call(func=ast.Name(id=name)):
            raise _no_function(name, written, where)
        case ast.UnaryOp(op=ast.USub()) | ast.Name() | ast.Load() | ast.operator() | ast.USub():
            return
    raise WorkloadError(
        "a formula has tensors, numbers, + - * / and functions only",
        where=where,
        value=written,
        instead=f"functions: {', '.join([*_UNARY, 'max'])}; around all of it max(…) or sum(…)",
    )


def _check_names(nodes: Sequence[ast.AST], written: str, where: Where | None) -> None:
    """Raise WorkloadError unless every name but those of functions is an input (`_0`, `_1`)."""
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if not isinstance(node, ast.Name) or id(node) in functions:
            continue
        if not node.id.removeprefix("_").isdecimal():
            raise WorkloadError(
                f"{node.id} is no tensor with its indices",
                where=where,
                value=written,
                instead=f"{node.id}[m], for example, or a number",
            )


def _no_function(name: str, written: str, where: Where | None) -> WorkloadError:
    if name in _JOINING:
        return WorkloadError(
            f"{name}(…) joins points: it stands around the whole formula",
            where=where,
            value=written,
            instead="an Einsum of its own for the joined values",
        )
    close = close_names(name, [*_UNARY, *_JOINING])
    return WorkloadError(
        f"there is no function {name}()",
        where=where,
        value=written,
        instead=f"did you mean {' or '.join(close)}?"
        if close
        else f"one of: {', '.join([*_UNARY, *_JOINING])}",
    )


def _computed(node: ast.expr, inputs: Sequence[Values]) -> Any:
    import numpy as np

    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            binary = getattr(np, _BINARY[type(operator)])
            return binary(_computed(left, inputs), _computed(right, inputs))
        case ast.UnaryOp(operand=operand):
            return -_computed(operand, inputs)
        case ast.Call(func=ast.Name(id="max"), args=[first, second]):
            return np.maximum(_computed(first, inputs), _computed(second, inputs))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return _unary(name, _computed(argument, inputs))
        case ast.Name(id=name):
            return inputs[int(name.removeprefix("_"))]
        case ast.Constant(value=int() | float() as value):
            return _constant(value, inputs)
    raise AssertionError(f"{ast.dump(node)} passed the check")


def _constant(value: float, inputs: Sequence[Values]) -> Any:
    """Return a number of a formula; beside integers, an integer of their type."""
    import numpy as np

    dtypes = {given.dtype for given in inputs}
    if all(dtype.kind == "i" for dtype in dtypes) and float(value).is_integer():
        return np.asarray(int(value)).astype(min(dtypes))
    return float(value)


def _unary(name: str, values: Any) -> Any:
    """Apply a function of one value, given by its name in formulas."""
    import numpy as np

    if name == "relu":
        return np.maximum(values, 0)
    if name == "sigmoid":
        return np.asarray(1 / (1 + np.exp(-values)))
    return getattr(np, name)(values)
