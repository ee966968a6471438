"""A Jinja2 environment in which a template can neither reach out nor grow without bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

MAX_STEPS = 200_000  # iterations of loops plus calls
MAX_TEXT = 8 * 1024 * 1024  # characters of output
MAX_VALUE = 64 * 1024  # characters or items of one value inside an expression
MAX_EXPONENT = 64
_FILTERS = frozenset(
    """abs capitalize count d default dictsort first float int items join last length list lower
    max min reject rejectattr reverse round select selectattr sort string sum title tojson trim
    unique upper""".split()  # noqa: SIM905
)
_STRING_METHODS = frozenset(
    """lower upper title strip lstrip rstrip startswith endswith split capitalize
    isdigit""".split()  # noqa: SIM905
)
_DICT_METHODS = frozenset(["items", "keys", "values", "get"])
_LIST_METHODS = frozenset(["index", "count"])
_METHODS: dict[type, frozenset[str]] = {
    str: _STRING_METHODS,
    dict: _DICT_METHODS,
    list: _LIST_METHODS,
}


class LimitError(Exception):
    """A template uses more steps, text or digits than it may."""


class TemplateAssertError(Exception):
    """The condition of an `{% assert %}` in a template is false."""


class TemplateBudget:
    """Counts the steps that all templates of one load take, up to 200 000."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self) -> None:
        """Count one step; LimitError if there are too many."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise LimitError(f"the template runs for more than {MAX_STEPS} steps")

    def check_size(self, size: int, what: str) -> None:
        """Raise LimitError if a text has more than 8 MiB characters; `what` names it."""
        if size > MAX_TEXT:
            raise LimitError(f"{what} is larger than {MAX_TEXT // 2**20} MiB")

    def measured(self, value: Any) -> Any:
        """Count all parts of a list or mapping, shared ones each time, and return it.

        Raises LimitError for more than 65 536 parts, or too many steps.
        """
        queue, size = [value], 0
        while queue:
            part = queue.pop()
            size += 1
            if size > MAX_VALUE:
                raise LimitError(f"a value has more than {MAX_VALUE} characters or items")
            if isinstance(part, dict):
                queue.extend(part.values())
            elif isinstance(part, list | tuple):
                queue.extend(part)
        self.steps += size // 16
        self.step()
        return value

    def bounded(self, iterable: Iterable[object]) -> Iterator[object]:
        """Yield the items of an iterable and count each as a step.

        Raises LimitError if there are too many.
        """
        for item in iterable:
            self.step()
            yield item


class Environment(SandboxedEnvironment):
    """A Jinja2 environment for untrusted templates.

    They have no access to Python, undefined names are errors, `budget` counts their steps, and
    large values are refused.
    """

    intercepted_binops = frozenset(["+", "*", "**", "%"])
    budget: TemplateBudget

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return `left operator right` in a template.

        LimitError if the result would be too large.
        """
        _check_operands(operator, left, right)
        result = _check_value(super().call_binop(context, operator, left, right))
        return self.budget.measured(result) if isinstance(result, list | tuple) else result

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call a function of a template and count it as a step; LimitError if a limit is passed."""
        __self.budget.step()
        result = super().call(__context, __obj, *args, **kwargs)
        boxed = isinstance(result, list | tuple | dict)
        return __self.budget.measured(result) if boxed else result

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return whether a template may use an attribute of `obj`: data, or harmless methods."""
        if attr.startswith("_"):
            return False
        if not callable(value):
            return super().is_safe_attribute(obj, attr, value)
        allowed = _METHODS.get(type(obj))
        return True if allowed is None and _is_jinja(obj) else attr in (allowed or ())

    def wrap_str_format(self, value: Any) -> None:
        """Return None, so that templates get no str.format: a width in it could fill the memory."""

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        _Bounder().rewrite(source)
        return super()._generate(source, *args, **kwargs)


def make_environment(budget: TemplateBudget, mark_data: Callable[[int, str], str]) -> Environment:
    """Return a fresh environment for templates.

    `budget`: counts their steps; `mark_data(line, text)`: may rewrite the plain text of a template,
    to mark where it comes from.
    """
    environment = Environment(
        undefined=StrictUndefined,
        extensions=[AssertExtension, _MarkExtension],
        optimized=False,
        cache_size=0,
        keep_trailing_newline=True,
    )
    environment.budget = budget
    environment.mark_data = mark_data  # type: ignore[attr-defined]  # read by _MarkExtension
    environment.filters = {name: environment.filters[name] for name in sorted(_FILTERS)}
    environment.filters["join"] = _join
    environment.globals["_bounded"] = budget.bounded
    environment.globals["_measured"] = budget.measured
    environment.globals["_concat"] = lambda parts: _check_value("".join(map(str, parts)))
    for name in ("lipsum", "cycler", "joiner"):
        environment.globals.pop(name, None)
    environment.globals.update(
        ceil=math.ceil,
        floor=math.floor,
        log2=math.log2,
        sqrt=math.sqrt,
        max=max,
        min=min,
        sum=sum,
        len=len,
        abs=abs,
        round=round,
        int=int,
        float=float,
        str=_text,
        inf=math.inf,
    )
    environment.concat = _concat_output  # type: ignore[method-assign]  # of {% set %}…{% endset %}
    return environment


class AssertExtension(Extension):
    """The tag `{% assert condition, message %}` of templates."""

    tags = {"assert"}  # noqa: RUF012  # the base class declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse the tag `{% assert condition, message %}` into a call that checks the condition.

        When the template is rendered and the condition is false, TemplateAssertError is raised.
        """
        line = next(parser.stream).lineno
        condition = parser.parse_expression()
        message: nodes.Expr = nodes.Const(None)
        if parser.stream.skip_if("comma"):
            message = parser.parse_expression()
        call = self.call_method("_check", [condition, message])
        return nodes.ExprStmt(call).set_lineno(line)

    def _check(self, condition: object, message: object) -> None:
        if not condition:
            raise TemplateAssertError(str(message) if message else "an assertion does not hold")


class _MarkExtension(Extension):
    """Jinja extension that rewrites plain text between tags, line by line, to mark its place."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        mark: Callable[[int, str], str] = self.environment.mark_data  # type: ignore[attr-defined]
        for token in stream:
            if token.type == "data":
                yield Token(token.lineno, token.type, mark(token.lineno, str(token.value)))
            else:
                yield token


class _Bounder:
    """Changes a template's syntax tree so that loops count iterations and `~` checks its result."""

    def rewrite(self, node: nodes.Node) -> None:
        for loop in node.find_all(nodes.For):
            loop.iter = self._call("_bounded", loop.iter)
        self._replace_parts(node)

    def _replace_parts(self, node: nodes.Node) -> None:
        for field, value in node.iter_fields():
            if isinstance(value, nodes.Node):
                setattr(node, field, self._replaced(value))
            elif isinstance(value, list):
                value[:] = [self._replaced(v) if isinstance(v, nodes.Node) else v for v in value]

    def _replaced(self, node: nodes.Node) -> nodes.Node:
        self._replace_parts(node)
        if isinstance(node, nodes.List | nodes.Tuple | nodes.Dict) and _is_value(node):
            return self._call("_measured", node)
        if isinstance(node, nodes.Concat):
            return self._call("_concat", nodes.List(node.nodes, lineno=node.lineno))
        return node

    def _call(self, name: str, argument: nodes.Node) -> nodes.Expr:
        line = argument.lineno
        function = nodes.Name(name, "load", lineno=line)
        call = nodes.Call(function, [argument], [], None, None, lineno=line)
        if argument.environment is not None:
            call.set_environment(argument.environment)
        return call


def _is_value(node: nodes.Node) -> bool:
    """Tell whether a list, tuple or mapping is read.

    A tuple may also be what `set` or `for` assigns.
    """
    return getattr(node, "ctx", "load") == "load"


def _check_operands(operator: str, left: Any, right: Any) -> None:
    """Raise LimitError for an operation of a template whose result could be too large."""
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if operator == "**":
        if not numbers or abs(right) > MAX_EXPONENT or abs(left) > 1e9:
            raise LimitError(f"powers take numbers, exponents up to {MAX_EXPONENT}")
    elif numbers:
        return
    elif operator == "%":
        raise LimitError("% takes numbers")
    elif operator == "*":
        _check_repetition(left, right)


def _check_repetition(left: Any, right: Any) -> None:
    """Raise LimitError if `text * number`, or `number * text`, would be too long."""
    size = len(left) * right if hasattr(left, "__len__") else right * _length(right, left)
    if not isinstance(size, int) or size > MAX_VALUE:
        raise LimitError("the product is too large a text or list")


def _length(right: Any, left: Any) -> int:
    return len(right) * left if hasattr(right, "__len__") and isinstance(left, int) else 0


def _check_value(value: Any) -> Any:
    if isinstance(value, str | list | tuple) and len(value) > MAX_VALUE:
        raise LimitError(f"a value has more than {MAX_VALUE} characters or items")
    if isinstance(value, int) and value.bit_length() > 4096:
        raise LimitError("a number is too large")
    return value


def _join(values: Iterable[object], separator: str = "") -> str:
    texts = [str(value) for value in values]
    size = sum(map(len, texts)) + len(separator) * len(texts)
    if size > MAX_VALUE:
        raise LimitError(f"join() would make more than {MAX_VALUE} characters")
    return separator.join(texts)


def _text(value: object) -> str:
    return str(_check_value(str(value)))


def _concat_output(pieces: Iterable[str]) -> str:
    size, chunks = 0, []
    for piece in pieces:
        size += len(piece)
        if size > MAX_TEXT:
            raise LimitError("a block of text grows too large")
        chunks.append(piece)
    return "".join(chunks)


def _is_jinja(value: object) -> bool:
    return type(value).__module__.startswith("jinja2.")
