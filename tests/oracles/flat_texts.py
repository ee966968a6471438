"""Architectures of few lines, and their flattened paths."""

from __future__ import annotations

from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch

RW = "[{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]"
OP = "[{name: compute, energy: 1, throughput: 1}]"
OPEN = """\
arch:
  nodes:
  - !Memory {name: M, size: 8, component_class: SRAM, energy_scale: 2}
  - !Compute {name: C, component_class: Mult, actions: [{name: compute, energy: 7}]}
"""
"""A memory and a compute whose costs estimators give."""


def memory(name: str, more: str = "") -> str:
    return f"  - !Memory {{name: {name}, size: 8, area: 1, actions: {RW}{more}}}\n"


def compute(name: str, more: str = "") -> str:
    return f"  - !Compute {{name: {name}, area: 1, actions: {OP}{more}}}\n"


def nested(kind: str, *nodes: str, more: str = "") -> str:
    inner = "".join("  " + node for node in nodes)
    return f"  - !{kind}\n{more}    nodes:\n{inner}"


def build(*nodes: str, scope: Scope | None = None) -> tuple[FlatArch, ...]:
    return flatten(load_arch("arch:\n  nodes:\n" + "".join(nodes)), scope)


def names(flat: FlatArch) -> list[str]:
    return [component.name for component in flat.components]
