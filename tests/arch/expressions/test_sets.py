"""Set algebra over names of tensors and rank variables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import ExpressionError
from tilewright.arch.expressions.expressions import evaluate
from tilewright.arch.expressions.sets import rank_variable_set, tensor_set
from tilewright.arch.flattening.scope import EinsumNames


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("All", "ABZ"),
        ("Nothing", ""),
        ("~Intermediates", "AB"),
        ("input | output", "AZ"),
        ("All - weight", "AZ"),
        ("(input | weight) ^ weight", "A"),
        ("Inputs & ~A", "B"),
        ("T", ""),
        ("A if len(All) == 3 else B", "A"),
        ("weight if T else output", "Z"),
        ("weight.tensors", "B"),
        ("~(input | output)", "B"),
        (["A", "output"], "AZ"),
    ],
)
def test_tensor_sets(matmul: Scope, text: object, names: str) -> None:
    assert tensor_set(text, EinsumNames(matmul).all) == frozenset(names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("~m", "kn"),
        ("weight.rank_variables", "kn"),
        ("All", "mkn"),
        ("m | k", "mk"),
        ("output", "mn"),
        ("~output.rank_variables", "k"),
    ],
)
def test_rank_variable_sets(matmul: Scope, text: str, names: str) -> None:
    assert rank_variable_set(text, EinsumNames(matmul).for_loops) == frozenset(names)


def test_widths(matmul: Scope) -> None:
    names = EinsumNames(matmul).all
    assert evaluate("3 * output.bits_per_value", names) == 48
    assert evaluate("weight.bits_per_value if weight else 0", names) == 4
    assert evaluate("T.bits_per_value if T else 0", names) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("T.bits_per_value", "empty set"),
        ("All.bits_per_value", "different widths"),
        ("A | m", "do not mix"),
        ("A + B", "+ does not apply to sets"),
        ("A & 3", "does not mix with the number 3"),
        ("Inptus", "nothing is called Inptus"),
        ("A.foo", "a set has no .foo"),
        ("3", "this must be a set of tensors"),
        ("m", "this must be a set of tensors"),
        ("min(A, B)", "cannot compare"),
    ],
)
def test_refusals(matmul: Scope, text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        tensor_set(text, EinsumNames(matmul).all)
    assert words in caught.value.what


def test_names_of_memories_above(matmul: Scope) -> None:
    names = EinsumNames(matmul).kept_sets(("DRAM", "BUF"), {"DRAM": frozenset("A")})
    assert tensor_set("~DRAM.tensors", names) == frozenset("BZ")
    assert tensor_set("Above", names) == frozenset("A")
    assert tensor_set("BUF", names) == frozenset()


_LEAVES = st.sampled_from(["All", "Nothing", "A", "B", "Z", "input", "Outputs", "T"])
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.tuples(inner, st.sampled_from("&|-^"), inner) | st.tuples(inner),
    max_leaves=8,
)


@given(_TREES)
def test_same_as_membership_logic(matmul: Scope, tree: object) -> None:
    found = tensor_set(_text(tree), EinsumNames(matmul).all)
    for tensor in "ABZ":
        assert (tensor in found) == _holds(tree, tensor, matmul)


def _text(tree: object) -> str:
    if isinstance(tree, str):
        return tree
    assert isinstance(tree, tuple)
    if len(tree) == 1:
        return f"~({_text(tree[0])})"
    return f"({_text(tree[0])} {tree[1]} {_text(tree[2])})"


def _holds(tree: object, tensor: str, scope: Scope) -> bool:
    if isinstance(tree, str):
        return tensor in scope.sets.get(tree, {tree})
    assert isinstance(tree, tuple)
    left = _holds(tree[0], tensor, scope)
    if len(tree) == 1:
        return not left
    right = _holds(tree[2], tensor, scope)
    return {"&": left and right, "|": left or right, "-": left and not right, "^": left != right}[
        tree[1]
    ]
