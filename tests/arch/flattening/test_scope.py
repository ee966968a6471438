"""Names of expressions in layers: lazy values, cycles, limits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.arch.components.components import Memory
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.expressions.sets import NameSet
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.flattening.scope import EinsumNames, Layer, Without
from tilewright.arch.spec.load import load_arch

Change = Callable[[str, str], str]


def failure(text: str, scope: Scope | None = None) -> SpecError:
    with pytest.raises(SpecError) as caught:
        flatten(load_arch(text), scope)
    return caught.value


def test_a_cycle_of_variables_is_an_error(change: Change) -> None:
    error = failure("variables:\n  a: b\n  b: c\n  c: a\n" + change("size: 1024", "size: a"))
    assert error.what == "a depends on itself: a -> b -> c -> a"
    assert error.where is not None
    assert error.where.line == 2


def test_lists_that_double_are_an_error(change: Change) -> None:
    doubled = "".join(f"  {x}{i}: [{x}{i - 1}, {x}{i - 1}]\n" for x in "ab" for i in range(1, 40))
    text = f"variables:\n  a0: 1\n  b0: 1\n{doubled}" + change("size: 1024", "size: a39 == b39")
    assert "too many steps" in failure(text).what


def test_fields_see_the_fields_beside_them(change: Change, matmul: Scope) -> None:
    text = change("size: 1024", "size: 1024\n    area: size * 2\n    leak_power: area / 1024")
    component = flatten(load_arch(text), matmul)[0].component("BUF")
    assert (component.area, component.leak_power) == (2048, 2)


def test_a_field_that_needs_itself_is_an_error(change: Change) -> None:
    error = failure(change("size: 1024", "size: area\n    area: size"))
    assert "depends on itself" in error.what


def test_a_field_may_take_a_variable_of_its_own_name(change: Change, matmul: Scope) -> None:
    text = "variables: {size: 77}\n" + change("size: 1024", "size: size")
    memory = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(memory, Memory)
    assert memory.size == 77


def test_layers_and_what_they_leave_out() -> None:
    large = {"a": 1, "b": 2, "c": 3}
    some = Without(large, frozenset({"b"}))
    assert dict(some) == {"a": 1, "c": 3}
    assert len(some) == 2
    assert "b" not in some
    with pytest.raises(KeyError):
        some["b"]
    both = Layer({"b": 20, "d": 40}, some)
    assert dict(both) == {"b": 20, "d": 40, "a": 1, "c": 3}
    assert ("c" in both, "e" in both) == (True, False)


def test_sets_are_values_when_they_are_asked_for(matmul: Scope) -> None:
    names = EinsumNames(matmul)
    assert set(names.tensors) >= {"All", "Nothing", *matmul.tensors}
    for name in names.tensors:
        value = names.tensors[name]
        assert isinstance(value, NameSet)
        assert value.kind == "tensors"
    assert (
        names.for_loops[matmul.rank_variables[0]] == names.rank_variables[matmul.rank_variables[0]]
    )
