"""Check files against pydantic models, and say in plain words what is wrong and where."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import DocPath, Document, format_path, untag
from tilewright.arch.names import did_you_mean

M = TypeVar("M", bound=BaseModel)
_NOT_GIVEN = object()

_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "dict": "a mapping (key: value)",
    "mapping": "a mapping (key: value)",
    "model": "a mapping (key: value)",
    "finite": "a finite number",
    "decimal": "a number",
}
_BOUNDS = {
    "greater_than": ("greater than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
    "too_short": ("a list of this many items or more:", "min_length"),
    "too_long": ("a list of this many items or fewer:", "max_length"),
    "string_too_short": ("a text of this many characters or more:", "min_length"),
    "string_too_long": ("a text of this many characters or fewer:", "max_length"),
}


class _Complaint(NamedTuple):
    """One complaint about a file: its place, the words, the value as written, what to write."""

    where: Where
    words: str
    written: object
    instead: str | None


class SpecModel(BaseModel):
    """Base of the pydantic models of all input files: immutable, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def no_entries() -> dict[str, Any]:
    """Return an empty mapping, for fields; pydantic takes milliseconds to look at `dict` itself."""
    return {}


def no_items() -> list[Any]:
    """Return an empty list, for fields; pydantic takes milliseconds to look at `list` itself."""
    return []


def parse(
    model: type[M], document: Document, path: DocPath = (), *, data: object = _NOT_GIVEN
) -> M:
    """Check the value at `path` of a document against a pydantic model and return the model.

    `data`, if given, stands in the place of that value. Raises SpecError for the first problem in
    file order, with its place, and the number of the others.
    """
    value = document.at(path) if data is _NOT_GIVEN else data
    try:
        return model.model_validate(untag(value))
    except ValidationError as error:
        raise explain(error, model, document, path, value) from None


def explain(
    error: ValidationError, model: type[BaseModel], document: Document, path: DocPath, value: object
) -> SpecError:
    """Return one SpecError for pydantic's complaints about the value at `path` of a document.

    It tells the first problem in file order in plain words, with its place.
    """
    problems: dict[DocPath, _Complaint] = {}
    for entry in error.errors(include_url=False):
        inner = _real_path(entry["loc"], value)
        full = (*path, *inner)
        if full in problems:  # the other members of a union say nothing new
            problems[full] = _merged(problems[full], entry)
            continue
        unknown_key = entry["type"] == "extra_forbidden"
        where = document.where_key(full) if unknown_key else document.where(full)
        words, instead = _words(entry, inner, model)
        problems[full] = _Complaint(where, words, entry.get("input", _NOT_GIVEN), instead)
    ordered = sorted(problems.values(), key=lambda problem: _order(problem, document))
    where, words, written, instead = ordered[0]
    further_problems = len(ordered) - 1
    ending = (
        f" (and {further_problems} more problem{'s' * (further_problems > 1)} in this file)"
        if further_problems
        else ""
    )
    if _shows_value(words, written):
        return SpecError(words + ending, where=where, value=untag(written), instead=instead)
    return SpecError(words + ending, where=where, instead=instead)


def _shows_value(words: str, written: object) -> bool:
    return written is not _NOT_GIVEN and not words.startswith(("missing", "unknown"))


def _order(problem: _Complaint, document: Document) -> tuple[str, int, int]:
    """Return a sort key for file order; a missing field counts at the end of its block."""
    where, words, written, _ = problem
    if not words.startswith("missing") or not isinstance(written, dict):
        return _position(where)
    places = [marks[0].where() for marks in document.marks.get(id(written), {}).values()]
    file, line, column = max(map(_position, [where, *places]))
    return file, line, column + 1


def _position(where: Where) -> tuple[str, int, int]:
    return where.file, where.line or 0, where.column or 0


def _real_path(loc: Sequence[str | int], value: object) -> DocPath:
    """Return the path of a complaint (`loc`) without what pydantic adds: union members, validators.

    `value`: the data, in which the path is followed.
    """
    path: list[str | int] = []
    current = untag(value)
    for number, step in enumerate(loc):
        if _has(current, step):
            current = untag(current[step])  # type: ignore[index]  # _has() looked
        elif number < len(loc) - 1 or not isinstance(current, Mapping) or not _is_name(step):
            continue
        path.append(step)
    return tuple(path)


def _has(container: object, step: str | int) -> bool:
    if isinstance(container, list):
        return isinstance(step, int) and step < len(container)
    return isinstance(container, Mapping) and step in container


def _is_name(step: str | int) -> bool:
    return isinstance(step, str) and "[" not in step and "-" not in step


_SHORT: Final = 60
_COMPUTED: Final = {
    "total_area": "leave it out; `area` is the area of one instance",
    "total_leak_power": "leave it out; `leak_power` is the leakage of one instance",
}
"""Fields that AccelForge writes into an architecture: results, not settings."""


def _words(
    entry: Mapping[str, Any], inner: DocPath, model: type[BaseModel]
) -> tuple[str, str | None]:
    """Return what is wrong, and what to write instead (None if that is not known).

    `entry`: pydantic's error; `inner`: its path; `model`: of the file.
    """
    kind: str = entry["type"]
    context: Mapping[str, Any] = entry.get("ctx") or {}
    name = format_path(inner[-1:])
    if kind == "missing":
        return f"missing field {name}", f"add `{name}:`"
    if kind == "extra_forbidden":
        if name in _COMPUTED:
            return f"{name} is computed, a file does not set it", _COMPUTED[name]
        field_names = _known_fields(model, inner[:-1])
        return f"unknown field {name}", did_you_mean(str(inner[-1]), field_names) or None
    if kind == "value_error":
        return _of_check(context.get("error", entry["msg"]))
    expected = _expected(kind, context)
    words = f"{name or 'the value'} must be {expected}" if expected else _plain(entry)
    return words, _as_list(entry.get("input")) if expected == _WANTED["list"] else None


def _of_check(error: object) -> tuple[str, str | None]:
    """Return what a check of a field says: `raise ValueError(what)` or `(what, instead)`."""
    if isinstance(error, ValueError) and len(error.args) > 1:
        return str(error.args[0]), str(error.args[1])
    return str(error), None


def _as_list(value: object) -> str | None:
    """Return a short text as a list of one; None for anything else."""
    is_text = isinstance(value, str) and value.isprintable() and len(value) < _SHORT
    return f"[{value}]" if is_text else None


def _expected(kind: str, context: Mapping[str, Any]) -> str | None:
    """Say what a value must be; None for a kind of problem that only pydantic has words for."""
    if kind in ("literal_error", "enum"):
        return f"one of {context.get('expected')}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"{words} {context.get(key)}"
    return _wanted(kind)


def _wanted(kind: str) -> str | None:
    for prefix, words in _WANTED.items():
        if kind.startswith(prefix + "_"):
            return words
    return None


def _plain(entry: Mapping[str, Any]) -> str:
    text = str(entry["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _merged(problem: _Complaint, entry: Mapping[str, Any]) -> _Complaint:
    """Join "must be a number" and "must be text" about one place into one complaint."""
    words, expected = problem.words, _wanted(entry["type"])
    if expected is None or " must be " not in words or words.endswith(expected):
        return problem
    return problem._replace(words=f"{words} or {expected}")


def _known_fields(model: type[BaseModel], path: DocPath) -> list[str]:
    """Return the names of the fields that may stand at `path` of a model."""
    models: list[Any] = [model]
    for step in path:
        models = [inner for outer in models for inner in _step(outer, step)]
    names: list[str] = []
    for candidate in models:
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            names += [field.alias or name for name, field in candidate.model_fields.items()]
    return names


def _step(outer: Any, step: str | int) -> Iterable[Any]:
    if isinstance(outer, type) and issubclass(outer, BaseModel):
        for name, field in outer.model_fields.items():
            if step in (name, field.alias):
                return _options(field.annotation)
        return []
    if get_origin(outer) is None:
        return []
    return [option for argument in get_args(outer)[-2:] for option in _options(argument)]


def _options(annotation: Any) -> list[Any]:
    """Return the types that an annotation may stand for: members of unions, Annotated's type."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _options(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return [option for argument in get_args(annotation) for option in _options(argument)]
    return [annotation]
