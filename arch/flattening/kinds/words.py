"""The words of a node of an architecture: all names that its expressions may use, and others."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from tilewright.arch.components.cost_query import Estimator
from tilewright.arch.files.document import Tagged
from tilewright.arch.spec.schema import SpecModel
from tilewright.arch.spec.tree import Node


class Written(Protocol):
    """What is read here of an architecture (`arch.spec.architecture.Arch`)."""

    @property
    def root(self) -> Node: ...
    @property
    def variables(self) -> Mapping[str, object]: ...
    @property
    def extra_attributes(self) -> Mapping[str, object]: ...
    @property
    def estimators(self) -> tuple[Estimator, ...]: ...


_WORD = re.compile(r"[^\W\d]\w*")
_MOST_SPECS = 256
_words_of_spec: OrderedDict[int, tuple[SpecModel, frozenset[str]]] = OrderedDict()


def words_of(arch: Written, nodes: Iterable[Node]) -> frozenset[str]:
    """Return the words of some nodes, and those of the variables among them, and so on."""
    words = set(_names_in(dict(arch.extra_attributes)))
    words.update(*(_written_in(node.spec) for node in nodes))
    ahead = [word for word in words if word in arch.variables]
    while ahead:
        more = set(_names_in(arch.variables[ahead.pop()])) - words
        words |= more
        ahead += [word for word in more if word in arch.variables]
    return frozenset(words)


def _written_in(spec: SpecModel) -> frozenset[str]:
    """Return the words in the fields of a node; designs of a study share most nodes."""
    known = _words_of_spec.get(id(spec))
    if known is None or known[0] is not spec:
        known = spec, frozenset(_names_in(spec.model_dump()))
        _words_of_spec[id(spec)] = known
        if len(_words_of_spec) > _MOST_SPECS:
            _words_of_spec.popitem(last=False)
    return known[1]


def _names_in(value: object) -> Iterator[str]:
    """Yield all words in the texts of a value: names of expressions, and others."""
    if isinstance(value, str):
        yield from _WORD.findall(value)
    elif isinstance(value, Mapping):
        yield from _names_in([*value, *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _names_in(item)
    elif isinstance(value, Tagged):
        yield from _names_in(value.value)
