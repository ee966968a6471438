"""Actions of a component: energy, throughput, values per action, and the query to an estimator."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from flat_texts import OPEN

from tilewright.arch.components.components import Memory
from tilewright.arch.components.cost_query import CostQuery
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch


@pytest.mark.row("001.45")
def test_attributes_are_evaluated_for_the_estimator(matmul: Scope) -> None:
    seen: list[CostQuery] = []

    class Spy:
        def estimate(self, query: CostQuery) -> None:
            seen.append(query)

    text = OPEN.replace(
        "component_class: SRAM",
        "component_class: Dummy, extra_attributes_for_component_model: {n_banks: 2 * size}",
    ).replace("  nodes:", "  extra_attributes_for_all_component_models: {tech: 65e-9}\n  nodes:")
    arch = load_arch(text.replace("Mult", "Dummy")).with_estimators(Spy())
    flatten(arch, matmul)
    assert (seen[0].name, seen[0].actions) == ("M", ("read", "write"))
    assert seen[0].attributes["n_banks"] == 16
    assert seen[0].attributes["tech"] == 65e-9
    assert seen[0].attributes["size"] == 8


Change = Callable[[str, str], str]


def test_values_per_action_precedence(change: Change, matmul: Scope) -> None:
    """Action, then component, then bits over width (model.md §3.2)."""
    text = change(
        "size: 1024\n    actions:\n    - {name: read, energy: 5, throughput: 256}",
        "size: 1024\n    bits_per_action: 64\n    bits_per_value: {output: 3 * 8}\n"
        "    values_per_action: {weight: 5}\n    actions:\n"
        "    - {name: read, energy: 5, throughput: 256, bits_per_action: 128,\n"
        "       values_per_action: {input: 7, weight: 0.1}}",
    )
    buffer = flatten(load_arch(text), matmul)[0].component("BUF")
    assert isinstance(buffer, Memory)
    assert buffer.action("read").values_per_action == {
        "A": 7,
        "B": Fraction(1, 10),
        "Z": Fraction(128, 24),
    }
    assert buffer.action("write").values_per_action == {"A": 8, "B": 5, "Z": Fraction(64, 24)}
    assert buffer.bits_per_value == {"A": 8, "B": 4, "Z": 24}
    assert buffer.action("read").bits_per_action == 128
