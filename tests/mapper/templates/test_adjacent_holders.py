"""Adjacent holders: a tile streams past a deeper memory."""

from __future__ import annotations

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.workload_loading import load_workload


def test_a_tile_streams_past_a_deeper_memory() -> None:
    """BUF holds two values, B three: it keeps one at a time, while Y stays in REG."""
    lines = ["arch:", "  nodes:"]
    for name, size, kept, energy in (
        ("DRAM", "inf", "All", 50),
        ("BUF", "2", "weight", 5),
        ("REG", "4", "input | output", 1),
    ):
        lines += [
            f"  - !Memory\n    name: {name}\n    size: {size}\n    leak_power: 0\n    area: 0",
            f"    tensors: {{keep: {kept}}}\n    actions:",
            f"    - {{name: read, energy: {energy}, throughput: inf}}",
            f"    - {{name: write, energy: {energy}, throughput: inf}}",
        ]
    lines += ["  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0"]
    lines += ["    actions: [{name: compute, energy: 1, throughput: 1}]"]
    work = load_workload(
        "workload:\n  rank_sizes: {M: 3, K: 3}\n  bits_per_value: {All: 1}\n  einsums:\n"
        '  - einsum: "Y[m] = A[m, k] * B[k]"\n    renames: {input: A, weight: B, output: Y}\n'
    )
    arch = load_arch("\n".join(lines) + "\n")
    found = search(arch, work)
    by_hand = evaluate(
        arch,
        work,
        load_mapping(
            "mapping:\n  nodes:\n  - !Storage {tensors: [Y, A, B], component: DRAM}\n"
            "  - !Storage {tensors: [B], component: BUF}\n"
            "  - !Storage {tensors: [Y], component: REG}\n"
            "  - !Temporal {rank_variable: k, tile_shape: 1}\n"
            "  - !Storage {tensors: [A], component: REG}\n"
            "  - !Temporal {rank_variable: m, tile_shape: 1}\n"
            "  - !Compute {einsum: Y, component: MAC}\n"
        ),
    )
    assert found.certificate.kind == "optimal"
    assert found.certificate.value == by_hand.energy
    assert search(arch, work, conventions="accelforge").certificate.value > by_hand.energy
