"""What the cascade search cannot model: it says so and names the feature."""

from __future__ import annotations

import pytest
from fused_cases import chain, two_memories

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature

WORKLOAD = chain(4, (2, 2, 2))


def edited(old: str, new: str) -> str:
    text = (
        "arch:\n  nodes:\n"
        "  - !Memory\n    name: DRAM\n    size: inf\n    leak_power: 0\n    area: 0\n"
        '    tensors: {keep: "~Intermediates", may_keep: All}\n'
        "    actions: [{name: read, energy: 9, throughput: 1},"
        " {name: write, energy: 9, throughput: 1}]\n"
        "  - !Memory\n    name: BUF\n    size: 64\n    leak_power: 0\n    area: 0\n"
        '    tensors: {keep: "~DRAM", may_keep: All}\n'
        "    actions: [{name: read, energy: 1, throughput: 1},"
        " {name: write, energy: 1, throughput: 1}]\n"
        "  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n"
        "    actions: [{name: compute, energy: 1, throughput: 1}]\n"
    )
    assert old in text
    return text.replace(old, new)


CASES = {
    "T1 are of different sizes": ("size: inf", "size: 150\n    bits_per_value: {input: 4}"),
    "DRAM may be too small, and need not keep": (
        'size: inf\n    leak_power: 0\n    area: 0\n    tensors: {keep: "~Intermediates"',
        "size: 150\n    leak_power: 0\n    area: 0\n    tensors: {keep: Nothing",
    ),
}


@pytest.mark.parametrize("feature", CASES)
def test_features_that_are_refused(feature: str) -> None:
    arch = load_arch(edited(*CASES[feature]))
    with pytest.raises(UnsupportedFeature, match=feature) as raised:
        fused_search(arch, WORKLOAD)
    assert "without fusion" in str(raised.value)


def test_a_design_without_room() -> None:
    arch = load_arch(edited('keep: "~DRAM", may_keep: All', "keep: All").replace("64", "8"))
    with pytest.raises(InfeasibleMapping, match="BUF") as raised:
        fused_search(arch, WORKLOAD)
    assert "one by one" in str(raised.value)


def test_unknown_objective() -> None:
    with pytest.raises(TilewrightError, match="unknown objective"):
        fused_search(two_memories(64), WORKLOAD, objective="beauty")


def test_one_memory_exchanges_through_it() -> None:
    text = edited("", "")
    start, end = text.index("  - !Memory\n    name: BUF"), text.index("  - !Compute")
    arch = load_arch((text[:start] + text[end:]).replace('"~Intermediates"', "All"))
    result = fused_search(arch, WORKLOAD)
    assert result.on_chip == ()
    assert "no fusion: tensors exchanged through DRAM" in result.certificate.scope


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_what_is_left_out_of_free_orders_is_in_the_scope(conventions: str) -> None:
    """Registers may hold weights above what the buffer holds, but not above what is exchanged."""
    values, scopes = [], []
    for rule in ("", ", force_memory_hierarchy_order: false"):
        row = "  - !Container {name: PE, spatial: [{name: x, fanout: 2}]}\n"
        registers = (
            "  - !Memory\n    name: REG\n    size: 32\n    leak_power: 0\n    area: 0\n"
            f"    tensors: {{keep: weight{rule}}}\n    actions: [{{name: read, energy: 0.5,"
            " throughput: inf}, {name: write, energy: 0.5, throughput: inf}]\n"
        )
        text = edited('keep: "~DRAM", may_keep: All', f'keep: "~DRAM", may_keep: All{rule}')
        arch = load_arch(text.replace("  - !Compute", f"{row}{registers}  - !Compute"))
        result = search(arch, WORKLOAD, conventions=conventions)
        assert result.certificate.kind == "optimal"
        assert result.notes == ()
        values.append(result.certificate.value)
        scopes.append(result.certificate.scope)
    assert values[1] <= values[0]
    free = "BUF, REG in hierarchy order above exchanged tensors"
    assert [free in scope for scope in scopes] == [False, True]
    below = "no holder below lanes of a deeper level"
    assert (below in scopes[1]) == (conventions == "accelforge")
