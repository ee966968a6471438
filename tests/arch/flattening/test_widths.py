"""Widths of tensors in a component, and directions of a Toll."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flat_texts import build, compute, memory

from tilewright.arch.components.components import Memory, Toll
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch

Change = Callable[[str, str], str]


def test_other_and_overlapping_keys(change: Change, matmul: Scope) -> None:
    text = change("size: 1024", "size: 1024\n    bits_per_value: {weight: 1, Other: 2}")
    buffer = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(buffer, Memory)
    assert buffer.bits_per_value == {"A": 2, "B": 1, "Z": 2}
    text = change("size: 1024", "size: 1024\n    bits_per_value: {weight: 1, Inputs: 2}")
    with pytest.raises(SpecError, match="both weight and Inputs hold the tensor B") as caught:
        flatten(load_arch(text), matmul)
    assert caught.value.where is not None
    assert caught.value.where.line == 13


def test_old_scale_of_widths(change: Change, matmul: Scope) -> None:
    text = change("size: 1024", "size: 1024\n    bits_per_value_scale: 2")
    buffer = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(buffer, Memory)
    assert buffer.bits_per_value == {"A": 16, "B": 8, "Z": 32}


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("up", {"A": "up", "B": "up", "Z": "up"}),
        ("{output: up, input | weight: down}", {"A": "down", "B": "down", "Z": "up"}),
        ("{output: up_and_down, Other: down}", {"A": "down", "B": "down", "Z": "up_and_down"}),
        ("both", {"A": "up_and_down", "B": "up_and_down", "Z": "up_and_down"}),
    ],
)
def test_directions_of_a_toll(matmul: Scope, written: str, wanted: dict[str, str]) -> None:
    toll = (
        f"  - !Toll {{name: T, direction: {written}, "
        "actions: [{name: read, energy: 1, throughput: 1}]}\n"
    )
    (flat,) = build(memory("A"), toll, compute("C"), scope=matmul)
    component = flat.component("T")
    assert isinstance(component, Toll)
    assert component.direction == wanted


@pytest.mark.parametrize(
    ("written", "words"),
    [("{output: up}", "says nothing about A, B"), ("upp", "must be up, down or up_and_down")],
)
def test_bad_directions(matmul: Scope, written: str, words: str) -> None:
    toll = (
        f"  - !Toll {{name: T, direction: {written}, "
        "actions: [{name: read, energy: 1, throughput: 1}]}\n"
    )
    with pytest.raises(SpecError, match=words):
        build(memory("A"), toll, compute("C"), scope=matmul)
