"""Components are evaluated anew exactly where something that they use is written differently."""

from __future__ import annotations

from design_files import ARCH

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload_loading import load_workload

TEXT = ARCH.replace("{Lanes: 4}", "{Lanes: 4, Bytes: 64, Bits: Bytes * 8}").replace(
    "size: 64 * 8", "size: Bits"
)
WORK = """\
workload:
  rank_sizes: {T: 4, F: 8, G: 16}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "up[t, f] = tokens[t, g] * WU[g, f]", renames: {input: tokens, output: up}}
"""


def components(arch):
    work = load_workload(WORK)
    (flat,) = flatten(arch, work.scope(work.einsums[0]))
    return {component.name: component for component in flat.components}


def test_only_what_uses_a_variable_is_evaluated_anew():
    arch = load_arch(TEXT)
    before, after = components(arch), components(arch.with_values({"variables.Bytes": 32}))
    assert (before["Buffer"].size, after["Buffer"].size) == (512, 256)  # by way of Bits
    assert after["Main"] is before["Main"]
    lanes = components(arch.with_values({"variables.Lanes": 2}))
    assert lanes["Array"].spatial[0].fanout == 2
    assert lanes["Buffer"] is before["Buffer"]


def test_a_node_written_alike_is_read_once():
    arch = load_arch(TEXT)
    first, second = (arch.with_values({"Buffer.size": 80, "variables.Lanes": n})
                     for n in (2, 4))  # fmt: skip
    assert first.node("Buffer") is second.node("Buffer")
    assert first.node("Buffer").spec.size == 80
    assert first.node("Main") is arch.node("Main")
    assert arch.with_values({"Buffer.size": 80.0}).node("Buffer").spec.size == 80.0
