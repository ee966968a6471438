"""What expressions of an architecture can see of an Einsum, by numbers instead of names.

Einsums with equal signatures see equal components, with their own names of tensors and rank
variables in the place of the others'.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from tilewright.arch.components.cost_table import CostTable
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.expressions.sets import NameSet
from tilewright.arch.flattening.kinds.words import Written, words_of
from tilewright.arch.flattening.scope import EinsumNames, Names
from tilewright.arch.memo import IdentityCache

_WORDS: Final = IdentityCache(16)
"""Of architectures."""
_SIGNATURES: Final = IdentityCache(4096, per_object=4)
"""Of scopes, by words: designs of a study mostly have the same ones."""


def scope_signature(scope: Scope, words: Collection[str]) -> Hashable:
    """Return a key, equal for Einsums that expressions with these words see alike but for names.

    It has what each word stands for, widths, indices and the alphabetical order of the names, with
    tensors and rank variables numbered.
    """
    names = EinsumNames(scope)
    tensors, variables = _numbers(scope.tensors), _numbers(scope.rank_variables)
    return (
        scope.is_copy,
        tuple(scope.bits_per_value.get(tensor) for tensor in scope.tensors),
        tuple(_chosen(scope.rank_variables_of.get(t, ()), variables) for t in scope.tensors),
        _in_order(tensors),
        _in_order(variables),
        frozenset(_meanings(words, names.tensors, tensors)),
        frozenset(_meanings(words, names.rank_variables, variables)),
    )


def einsum_signature(arch: Written, scope: Scope) -> Hashable | None:
    """Return a key, equal for Einsums that an architecture cannot tell apart but by names.

    None if it may tell by the names themselves: estimators that are no tables see what they like.
    """
    words: frozenset[str] | None = _WORDS.of(arch, "words", partial(_words_of_arch, arch))
    if words is None:
        return None
    return _SIGNATURES.of(scope, words, partial(scope_signature, scope, words))  # type: ignore[no-any-return]


def _words_of_arch(arch: Written) -> frozenset[str] | None:
    """Return the words of all nodes; None if estimators may look at names of tensors."""
    is_blind = all(isinstance(estimator, CostTable) for estimator in arch.estimators)
    return words_of(arch, arch.root.walk()) if is_blind else None


def _numbers(names: Sequence[str]) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names)}


def _in_order(numbers: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(numbers[name] for name in sorted(numbers))


def _chosen(names: Collection[str], numbers: Mapping[str, int]) -> frozenset[int | str]:
    return frozenset(numbers.get(name, name) for name in names)


def _meanings(
    words: Collection[str], names: Names, numbers: Mapping[str, int]
) -> Iterator[tuple[str, frozenset[int | str]]]:
    """Yield (word, members of the set that it names) for the words that name one."""
    for word in words:
        if word in names:
            named = names[word]
            assert isinstance(named, NameSet)
            yield word, _chosen(named.names, numbers)
