"""Check the fields of nodes as far as no Einsum is needed: syntax, and numbers too small."""

from __future__ import annotations

from pydantic import BaseModel

from tilewright.arch.errors import ExpressionError, SpecError
from tilewright.arch.expressions.expressions import compile_expression
from tilewright.arch.files.document import DocPath, Document, format_path
from tilewright.arch.spec.tree import Node

_NOT_EXPRESSIONS = frozenset(
    {
        "component_class",
        "component_model",
        "component_modeling_log",
        "direction",
        "extra_attributes_for_component_model",
        "name",
        "nodes",
        "operator",
        "topology",
    }
)


def check_fields(document: Document, node: Node) -> None:
    """Check the fields of a node as far as no Einsum is needed: expressions and plain numbers.

    Raises SpecError at the field for an expression that is not allowed, a negative number, a
    fanout that is no whole number above 0, or a dimension named twice.
    """
    _Check(document, node.path).model(node.spec, ())
    names: list[str] = []
    for index, dimension in enumerate(getattr(node.spec, "spatial", ())):
        if dimension.name in names:
            raise SpecError(
                f"two dimensions are called {dimension.name}",
                where=document.where((*node.path, "spatial", index, "name")),
                instead="give each dimension of a component a name of its own",
            )
        names.append(dimension.name)


class _Check:
    def __init__(self, document: Document, path: DocPath) -> None:
        self.document = document
        self.path = path

    def model(self, spec: BaseModel, path: DocPath) -> None:
        for name in type(spec).model_fields:
            if name in spec.model_fields_set and name not in _NOT_EXPRESSIONS:
                self.value(getattr(spec, name), (*path, name))

    def value(self, value: object, path: DocPath) -> None:
        if isinstance(value, BaseModel):
            self.model(value, path)
        elif isinstance(value, list | tuple):
            for index, inner in enumerate(value):
                self.value(inner, (*path, index))
        elif isinstance(value, dict):
            for key, inner in value.items():
                self.value(str(key), (*path, key))
                self.value(inner, (*path, key))
        elif isinstance(value, str):
            self.text(value, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self.number(value, path)

    def text(self, value: str, path: DocPath) -> None:
        try:
            compile_expression(value)
        except ExpressionError:
            compile_expression(value, self.document.where((*self.path, *path)))

    def number(self, value: float, path: DocPath) -> None:
        is_fanout = path[-1] == "fanout"
        if value >= 0 and not (is_fanout and (value < 1 or value != value // 1)):
            return
        expected = "a whole number of at least 1" if is_fanout else "0 or more"
        problem = f"must be {expected}" if is_fanout else "must not be negative"
        raise SpecError(
            f"{format_path(path)} {'is not a number' if value != value else problem}",  # noqa: PLR0124
            where=self.document.where((*self.path, *path)),
            value=value,
            instead=f"write {expected}",
        )
