"""What expressions of an architecture can see of an Einsum, by numbers instead of names.

Einsums with equal signatures see equal components, with their own names of tensors and rank
variables in the place of the others'.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

from tilewright.arch.components.components import Scope
from tilewright.arch.components.cost_table import CostTable
from tilewright.arch.expressions.sets import NameSet
from tilewright.arch.flattening.kinds.words import Written, words_of
from tilewright.arch.flattening.scope import EinsumNames, Names

_MOST_ARCHS = 16
_MOST_SIGNATURES, _MOST_OF_ONE = 128, 4096
_words: OrderedDict[int, tuple[Written, frozenset[str]]] = OrderedDict()
_signatures: OrderedDict[tuple[int, int], tuple[Written, Scope, Hashable]] = OrderedDict()


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
    The last answers are kept.
    """
    place = id(arch), id(scope)
    known = _signatures.get(place)
    if known is not None and known[0] is arch and known[1] is scope:
        return known[2]
    is_blind = all(isinstance(estimator, CostTable) for estimator in arch.estimators)
    signature = scope_signature(scope, _words_of_arch(arch)) if is_blind else None
    _signatures[place] = arch, scope, signature
    _make_room(arch)
    return signature


def _make_room(arch: Written) -> None:
    """Forget the oldest signatures; those of the present architecture only if very many."""
    while len(_signatures) > _MOST_SIGNATURES:
        oldest = next(iter(_signatures))
        if oldest[0] == id(arch) and len(_signatures) <= _MOST_OF_ONE:
            return
        del _signatures[oldest]


def _words_of_arch(arch: Written) -> frozenset[str]:
    """Return the words of all nodes of an architecture, kept for the last architectures."""
    known = _words.get(id(arch))
    if known is None or known[0] is not arch:
        nodes = arch.root.walk()
        known = arch, frozenset[str]().union(*(words_of(arch, node) for node in nodes))
        _words[id(arch)] = known
        if len(_words) > _MOST_ARCHS:
            _words.popitem(last=False)
    return known[1]


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
