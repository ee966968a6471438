"""Expressions in files: a small, safe part of Python's expression language.

The text is parsed by `ast`, checked against a whitelist, and compiled once into closures (no eval,
no exec). Limits on length, depth, exponents, size of numbers, items and iterations keep every
expression quick. What an object offers behind a dot must be registered for its type.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tilewright.arch.errors import ExpressionError, Where
from tilewright.arch.expressions.functions import CONSTANTS, FUNCTIONS
from tilewright.arch.expressions.operators import (
    BINARY,
    COMPARE,
    MAX_BITS,
    UNARY,
    EvaluationError,
    Steps,
    attribute,
    item,
)
from tilewright.arch.expressions.units import UNITS, unknown_unit, without_units
from tilewright.arch.names import close_names

MAX_LENGTH = 2000
MAX_DEPTH = 40
MAX_STEPS = 50_000
_ALLOWED = (
    "allowed are numbers, names, + - * / // % **, comparisons, and / or / not, A if C else B, "
    "& | ~ - ^ on sets, calls such as max(...), and `f(a) for a in list` inside a call"
)
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%(?=\s*(?:$|[)*,<>=]|and\b|or\b|of\b))")  # 5 %

Environment = Mapping[str, object]
Code = Callable[["_Evaluation"], Any]


class UnknownNameError(ExpressionError):
    """An expression uses a name that has no value in its place."""


class _NoSuchNameError(EvaluationError):
    pass


class _Evaluation:
    """The state of one evaluation: names, loop variables of generator expressions, steps left."""

    __slots__ = ("local", "names", "steps")

    def __init__(self, names: Environment) -> None:
        self.names = names
        self.local: dict[str, object] = {}
        self.steps = Steps(MAX_STEPS)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of an input file, checked and compiled; call it with names to get its value.

    `text`: as written; `free`: the names that it takes from outside; `code`: the compiled form.
    """

    text: str
    free: frozenset[str]
    code: Code

    def __reduce__(self) -> tuple[object, ...]:
        return compile_expression, (self.text,)

    def __call__(self, names: Environment, where: Where | None = None) -> object:
        """Evaluate with `names`; ExpressionError says what failed, at `where`."""
        try:
            return self.code(_Evaluation(names))
        except EvaluationError as error:
            kind = UnknownNameError if isinstance(error, _NoSuchNameError) else ExpressionError
            raise kind(str(error), where=where, value=self.text, instead=error.instead) from None
        except ExpressionError as error:
            if error.where is None:
                error.where = where
            raise
        except (ArithmeticError, ValueError, TypeError, LookupError) as error:
            raise ExpressionError(
                f"the expression fails: {error or type(error).__name__}",
                where=where,
                value=self.text,
            ) from None
        except RecursionError:
            raise ExpressionError(
                "the expression goes too deep", where=where, value=self.text
            ) from None


def evaluate(expression: object, names: Environment, where: Where | None = None) -> object:
    """Return the value of an expression's text; anything but text is returned unchanged.

    `names`: value by name. Raises ExpressionError, at `where`, for wrong syntax, an operation that
    is not allowed or fails; UnknownNameError, one of them, for a name without a value.
    """
    if not isinstance(expression, str):
        return expression
    return compile_expression(expression, where)(names, where)


def compile_expression(text: str, where: Where | None = None) -> Expression:
    """Check and compile the text of an expression; the result is cached.

    Raises ExpressionError, at `where`, for wrong syntax or what is not allowed.
    """
    try:
        return _compiled(text)
    except ExpressionError as error:
        if where is None:
            raise
        raise ExpressionError(error.what, where=where, value=text, instead=error.instead) from None


@lru_cache(maxsize=4096)
def _compiled(text: str) -> Expression:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression has more than {MAX_LENGTH} characters", value=text)
    try:
        tree = ast.parse(without_units(text).strip().replace("\n", " "), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        unit = unknown_unit(text)
        if unit is not None:
            raise _no_unit(text, unit) from None
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        share = _SHARE.search(text)
        instead = f"{float(share[1]) / 100:g} for {share[0]}" if share else _ALLOWED
        raise ExpressionError(
            f"this is not an expression: {reason}", value=text, instead=instead
        ) from None
    compiler = _ExpressionCompiler(text)
    code = compiler.compile(tree.body, 0)
    return Expression(text, frozenset(compiler.free), code)


def _no_unit(text: str, unit: str) -> ExpressionError:
    close = close_names(unit, UNITS)
    return ExpressionError(
        f"there is no unit {unit}",
        value=text,
        instead=f"did you mean {' or '.join(close)}?"
        if close
        else "units such as pJ, ns, mW, GHz, bit, B, kB (1000 B), KiB (1024 B), Gbit/s, GB/s, mm^2",
    )


class _ExpressionCompiler:
    def __init__(self, text: str) -> None:
        self.text = text
        self.free: set[str] = set()
        self.bound: list[str] = []

    def compile(self, node: ast.expr, depth: int) -> Code:
        if depth > MAX_DEPTH:
            raise ExpressionError(
                f"the expression nests deeper than {MAX_DEPTH} levels", value=self.text
            )
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refuse(node)
        code: Code = method(node, depth + 1)
        return code

    def _refuse(self, node: ast.AST, what: str = "") -> ExpressionError:
        start = getattr(node, "col_offset", 0)
        piece = ast.get_source_segment(self.text.strip().replace("\n", " "), node) or ""
        return ExpressionError(
            f"`{piece or self.text}` (column {start + 1}) is not allowed in an expression"
            + (f": {what}" if what else ""),
            value=self.text,
            instead=_ALLOWED,
        )

    # ---- one method per kind of node; its name is that of the ast class

    def _constant(self, node: ast.Constant, _: int) -> Code:
        value = node.value
        if not isinstance(value, int | float | str | bool | None):
            raise self._refuse(node)
        is_long = isinstance(value, int) and value.bit_length() > MAX_BITS
        if is_long or value == math.inf:
            raise self._refuse(node, "the number is too large")
        return lambda _frame: value

    def _name(self, node: ast.Name, _: int) -> Code:
        name = node.id
        if name.startswith("__"):
            raise self._refuse(node)
        if name in self.bound:
            return lambda frame: frame.local[name]
        self.free.add(name)
        return lambda frame: _lookup(frame, name)

    def _binop(self, node: ast.BinOp, depth: int) -> Code:
        operate = BINARY.get(type(node.op))
        if operate is None:
            raise self._refuse(node)
        left, right = self.compile(node.left, depth), self.compile(node.right, depth)
        return lambda frame: operate(left(frame), right(frame))

    def _unaryop(self, node: ast.UnaryOp, depth: int) -> Code:
        operate = UNARY[type(node.op)]
        operand = self.compile(node.operand, depth)
        return lambda frame: operate(operand(frame))

    def _boolop(self, node: ast.BoolOp, depth: int) -> Code:
        operands = [self.compile(value, depth) for value in node.values]
        stop_at = isinstance(node.op, ast.Or)

        def run(frame: _Evaluation) -> object:
            result: object = None
            for part in operands:
                result = part(frame)
                if bool(result) is stop_at:
                    return result
            return result

        return run

    def _compare(self, node: ast.Compare, depth: int) -> Code:
        operators = [COMPARE.get(type(operator)) for operator in node.ops]
        if None in operators:
            raise self._refuse(node)
        operands = [self.compile(value, depth) for value in (node.left, *node.comparators)]

        def run(frame: _Evaluation) -> object:
            left = operands[0](frame)
            for operate, part in zip(operators, operands[1:], strict=True):
                right = part(frame)
                if not operate(left, right):  # type: ignore[misc]  # None is refused above
                    return False
                left = right
            return True

        return run

    def _ifexp(self, node: ast.IfExp, depth: int) -> Code:
        test, yes, no = (self.compile(n, depth) for n in (node.test, node.body, node.orelse))
        return lambda frame: yes(frame) if test(frame) else no(frame)

    def _attribute(self, node: ast.Attribute, depth: int) -> Code:
        name = node.attr
        if name.startswith("_"):
            raise self._refuse(node)
        owner = self.compile(node.value, depth)
        return lambda frame: attribute(owner(frame), name)

    def _subscript(self, node: ast.Subscript, depth: int) -> Code:
        if isinstance(node.slice, ast.Slice):
            raise self._refuse(node)
        owner, key = self.compile(node.value, depth), self.compile(node.slice, depth)
        return lambda frame: item(owner(frame), key(frame))

    def _tuple(self, node: ast.Tuple | ast.List, depth: int) -> Code:
        items = [self.compile(value, depth) for value in node.elts]
        return lambda frame: frame.steps.charge(tuple(part(frame) for part in items))

    _list = _tuple

    def _dict(self, node: ast.Dict, depth: int) -> Code:
        if any(key is None for key in node.keys):
            raise self._refuse(node)
        keys = [self.compile(key, depth) for key in node.keys if key is not None]
        values = [self.compile(value, depth) for value in node.values]
        return lambda frame: frame.steps.charge(
            {key(frame): value(frame) for key, value in zip(keys, values, strict=True)}
        )

    def _call(self, node: ast.Call, depth: int) -> Code:
        if not isinstance(node.func, ast.Name) or node.func.id not in (*FUNCTIONS, "map"):
            raise self._unknown_function(node)
        if node.keywords or any(isinstance(value, ast.Starred) for value in node.args):
            raise self._refuse(node, "functions take plain arguments")
        if node.func.id == "map":
            return self._map(node, depth)
        function = FUNCTIONS[node.func.id]
        arguments = [self.compile(value, depth) for value in node.args]
        return lambda frame: function(frame.steps, *[value(frame) for value in arguments])

    def _map(self, node: ast.Call, depth: int) -> Code:
        """Compile `map(function, list)`; functions are no values anywhere else."""
        match node.args:
            case [ast.Name(id=name), values] if name in FUNCTIONS:
                function, source = FUNCTIONS[name], self.compile(values, depth)
            case _:
                raise self._refuse(node, "map(abs, list): the name of a function, and a list")

        def run(frame: _Evaluation) -> object:
            results = [function(frame.steps, value) for value in frame.steps.iterate(source(frame))]
            return frame.steps.charge(tuple(results))

        return run

    def _unknown_function(self, node: ast.Call) -> ExpressionError:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if not name or name.startswith("_"):
            return self._refuse(node)
        close = close_names(name, FUNCTIONS)
        return ExpressionError(
            f"there is no function {name}()",
            value=self.text,
            instead=f"did you mean {' or '.join(close)}?"
            if close
            else "one of: " + ", ".join(sorted(FUNCTIONS)),
        )

    def _generatorexp(self, node: ast.GeneratorExp | ast.ListComp, depth: int) -> Code:
        loop = node.generators[0]
        if len(node.generators) != 1 or not isinstance(loop.target, ast.Name) or loop.is_async:
            raise self._refuse(node, "one loop over one name")
        name = loop.target.id
        if name.startswith("__"):
            raise self._refuse(loop.target)
        source = self.compile(loop.iter, depth)
        self.bound.append(name)
        element = self.compile(node.elt, depth)
        tests = [self.compile(test, depth) for test in loop.ifs]
        self.bound.pop()

        def run(frame: _Evaluation) -> object:
            outer, had = frame.local.get(name), name in frame.local
            results = []
            for value in frame.steps.iterate(source(frame)):
                frame.local[name] = value
                if all(test(frame) for test in tests):
                    results.append(element(frame))
            if had:
                frame.local[name] = outer
            return frame.steps.charge(tuple(results))

        return run

    _listcomp = _generatorexp


def _lookup(frame: _Evaluation, name: str) -> object:
    try:
        return frame.names[name]
    except KeyError:
        pass
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in FUNCTIONS:
        raise EvaluationError(f"{name} is a function", f"write {name}(...)")
    close = close_names(name, frame.names)
    raise _NoSuchNameError(
        f"nothing is called {name} here",
        f"did you mean {' or '.join(close)}?" if close else "a number, or an expression of names",
    )
