"""The words of a node of an architecture: all names that its expressions may use, and others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, Protocol

from tilewright.arch.components.cost_query import Estimator
from tilewright.arch.files.document import Tagged
from tilewright.arch.memo import IdentityCache
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
_WORDS: Final = IdentityCache(256)
"""Of the fields of nodes, which designs of a study mostly share."""


def words_of(arch: Written, nodes: Iterable[Node]) -> frozenset[str]:
    """Return the words of some nodes, and those of the variables among them, and so on."""
    words = set(_names_in(dict(arch.extra_attributes)))
    for node in nodes:
        words |= _WORDS.of(node.spec, "words", partial(_written_in, node.spec))
    ahead = [word for word in words if word in arch.variables]
    while ahead:
        more = set(_names_in(arch.variables[ahead.pop()])) - words
        words |= more
        ahead += [word for word in more if word in arch.variables]
    return frozenset(words)


def _written_in(spec: SpecModel) -> frozenset[str]:
    """Return the words in the fields of a node."""
    return frozenset(_names_in(spec.model_dump()))


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
