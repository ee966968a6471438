"""Architectures as values: variables, pickling, equality."""

from __future__ import annotations

import pickle
from collections.abc import Callable

from tilewright.arch.components.components import Memory
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch

Change = Callable[[str, str], str]


def test_variables_in_any_order(change: Change, matmul: Scope) -> None:
    text = "variables: {a: b * 2, b: c + 1, c: 3}\n" + change("size: 1024", "size: a * 4")
    memory = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(memory, Memory)
    assert memory.size == 32
    again = flatten(load_arch(text, variables={"c": 7}), matmul)[0].component("BUF")
    assert isinstance(again, Memory)
    assert again.size == 64


def test_variables_may_depend_on_the_einsum(
    change: Change, matmul: Scope, elementwise: Scope
) -> None:
    text = "variables: {n: len(All)}\n" + change("size: 1024", "size: n * 4")
    sizes = [flatten(load_arch(text), s)[0].component("BUF") for s in (matmul, elementwise)]
    assert [memory.size for memory in sizes if isinstance(memory, Memory)] == [12, 8]


def test_pickling_keeps_everything(small: str, matmul: Scope) -> None:
    arch = load_arch(small)
    again = pickle.loads(pickle.dumps(arch))
    assert again == arch
    assert again.where(again.node("BUF"), "size").line == 12
    flat = pickle.loads(pickle.dumps(flatten(arch, matmul)))[0]
    assert flat.components[0].tensors.resolve({}).keep == frozenset("AB")
