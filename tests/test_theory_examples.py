"""The worked examples of docs/theory, computed."""

from __future__ import annotations

from math import ceil

import pytest

from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.grid.reductions import line_chains, receives
from tilewright.mapper.grid.schemes.line_costs import PUBLISHED_COSTS, AdditionCosts
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.mapper.layout import Collapse, GridSplit, ModuloRotation, Tiling
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.uneven.costs.tile_candidates import quotient_steps
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.lowering.sums.sum_chains import sums_cycles
from tilewright.simulator.profiles.profile import load_profile

MATMUL = "Z[m, n] = A[m, k] * B[k, n]"
SLIDING = "O[p] = I[H: p + r] * F[r]"
PRICES = {"DRAM": (100, 110), "BUF": (5, 6)}


def arch_text(buffer: int = 64, fanout: int = 4, keep: str = "All", dram_rate: str = "1") -> str:
    """Write DRAM – BUF – lanes – MAC."""
    lines = ["arch:", "  nodes:"]
    for name, size, tensors, rate in (
        ("DRAM", "inf", "keep: All", dram_rate),
        ("BUF", str(buffer), f"keep: {keep}", "inf"),
    ):
        read, write = PRICES[name]
        lines += [
            f"  - !Memory\n    name: {name}\n    size: {size}\n    leak_power: 0\n    area: 0",
            f"    tensors: {{{tensors}}}\n    actions:",
            f"    - {{name: read, energy: {read}, throughput: {rate}}}",
            f"    - {{name: write, energy: {write}, throughput: {rate}}}",
        ]
    lines.append(f"  - !Container {{name: Row, spatial: [{{name: x, fanout: {fanout}}}]}}")
    lines.append("  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:")
    lines.append("    - {name: compute, energy: 1, throughput: 1}")
    return "\n".join(lines) + "\n"


def work_text(einsums: list[str], **sizes: int) -> str:
    ranks = ", ".join(f"{rank}: {size}" for rank, size in sizes.items())
    texts = ", ".join(f'"{einsum}"' for einsum in einsums)
    return (
        f"workload:\n  bits_per_value: {{All: 1}}\n  rank_sizes: {{{ranks}}}\n"
        f"  einsums: [{texts}]\n"
    )


def scored(nodes: list[Node], work: str, fanout: int = 4, conventions: str = "default") -> Score:
    arch = load_arch(arch_text(fanout=fanout))
    return evaluate(arch, load_workload(work), Mapping(tuple(nodes)), conventions)


def counts(score: Score, tensor: str, memory: str, action: str) -> int:
    return int(next(n for key, n in score.actions.items() if f"/{memory}/{tensor}/{action}" in key))


def running(*order: str, lanes: bool = False) -> Score:
    """Score the running example of model.md with its inner loops in an order."""
    inner: list[Node] = [Temporal(v, 1) for v in order]
    if lanes:
        inner = [Spatial("n", 1, "x", "Row"), Temporal("k", 1), Spatial("m", 1, "x", "Row")]
    nodes = [Storage(("A", "B", "Z"), "DRAM"), Temporal("m", 2), Storage(("A",), "BUF"), *inner]
    return scored([*nodes, ComputeNode("Z", "MAC")], work_text([MATMUL], M=8, K=4, N=2))


def test_model_running_example() -> None:
    """model.md §3.1, §3.3, §3.4, §3.6, §4.1, §6."""
    score = running("n", "k", "m")
    assert counts(score, "A", "DRAM", "read") == counts(score, "A", "BUF", "write") == 32
    assert counts(score, "A", "BUF", "read") == counts(score, "B", "DRAM", "read") == 64
    assert counts(score, "Z", "DRAM", "write") == 64
    assert counts(score, "Z", "DRAM", "read") == 64 - 16
    assert score.capacity["BUF"] == 8
    assert running("m", "k", "n").capacity["BUF"] == 1
    assert score.latency == 32 + 64 + 64 + 48
    dealt = running(lanes=True)
    assert counts(dealt, "A", "BUF", "read") == counts(dealt, "B", "DRAM", "read") == 32


def test_lattice_dynamic_program(tmp_path_factory: pytest.TempPathFactory) -> None:
    """lattice.md §3.1."""
    folder = tmp_path_factory.mktemp("theory")
    (folder / "a.yaml").write_text(arch_text(buffer=1, fanout=1, keep="B", dram_rate="inf"))
    (folder / "w.yaml").write_text(work_text(["Z[m] = A[m, k] * B[k]"], M=2, K=2))
    assert search(folder / "a.yaml", folder / "w.yaml").certificate.value == 1276


def test_lattice_sliding_windows() -> None:
    """lattice.md §4: filled with 6 values, 4 or 3 of them reserved."""
    work = work_text([SLIDING], P=4, R=3, H=6)
    for order, reserved in ((("r", "p"), 4), (("p", "r"), 3)):
        loops: list[Node] = [Temporal(v, 1) for v in order]
        held = [Storage(("I", "F", "O"), "DRAM"), Storage(("I",), "BUF")]
        score = scored([*held, *loops, ComputeNode("O", "MAC")], work)
        assert counts(score, "I", "DRAM", "read") == 6
        assert score.capacity["BUF"] == reserved


@pytest.mark.parametrize(
    ("bits", "fusion", "energy"),
    [(12, True, 2568), (8, True, 3376), (12, False, 4184), (8, False, 4184)],
)
def test_fusion_running_example(
    tmp_path_factory: pytest.TempPathFactory, bits: int, fusion: bool, energy: int
) -> None:
    """fusion.md, the table of the running example, and §3."""
    text = arch_text(buffer=bits, fanout=1, keep="Intermediates, may_keep: All", dram_rate="inf")
    text = text.replace("{keep: All}", "{keep: ~Intermediates, may_keep: All}")
    for old, new in (
        ("energy: 110", "energy: 100"),
        ("energy: 5,", "energy: 1,"),
        ("energy: 6,", "energy: 1,"),
    ):
        text = text.replace(old, new)
    folder = tmp_path_factory.mktemp("theory")
    chain = ["Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]"]
    (folder / "a.yaml").write_text(text)
    (folder / "w.yaml").write_text(work_text(chain, M=4, K=2, N=2, P=2))
    result = search(folder / "a.yaml", folder / "w.yaml", fusion=fusion)
    assert result.certificate.value == energy
    if fusion and bits == 8:
        assert result.best.score.capacity["BUF"] == 4 + 2 + 1


def test_fusion_counts_of_compatibilities() -> None:
    """fusion.md §1.4: a bound of 128 has 7 tiles besides the whole."""
    m = n = a = b = 7
    assert 1 + m + n + 2 * m * n == 113
    assert 1 + 3 * m + a + b + 3 * m * (a + b) == 330


def test_imperfect_counts() -> None:
    """imperfect.md §2, §6."""
    held = [Storage(("I", "F", "O"), "DRAM"), Temporal("p", 3), Storage(("I",), "BUF")]
    loops: list[Node] = [Temporal("r", 1), Temporal("p", 1), ComputeNode("O", "MAC")]
    score = scored([*held, *loops], work_text([SLIDING], P=7, R=3, H=9))
    assert counts(score, "I", "DRAM", "read") == (7 - 3) * 1 + (3 - 1) * 3 + 3 * 1 == 13
    around = [Storage(("A", "B", "Z"), "DRAM"), Temporal("k", 3), Storage(("Z",), "BUF")]
    nodes: list[Node] = [*around, Temporal("m", 1), Temporal("k", 1), ComputeNode("Z", "MAC")]
    work = work_text(["Z[m] = A[m, k] * B[k]"], M=2, K=7)
    assert counts(scored(nodes, work), "Z", "BUF", "write") == 2 * (7 + 2)
    assert counts(scored(nodes, work), "Z", "DRAM", "write") == 2 * 3
    theirs = scored(nodes, work, conventions="accelforge")
    assert counts(theirs, "Z", "BUF", "write") == 2 * (9 + 2)


@pytest.mark.parametrize(("outer", "tile", "steps"), [(10, 5, 6), (8, 4, 7)])
def test_imperfect_steps(outer: int, tile: int, steps: int) -> None:
    """imperfect.md §4: the same number of tiles, other steps."""
    nodes: list[Node] = [Storage(("A", "Z"), "DRAM"), Temporal("n", outer)]
    nodes += [Spatial("n", tile, "x", "Row"), Temporal("n", 1), ComputeNode("Z", "MAC")]
    score = scored(nodes, work_text(["Z[n] = A[n]"], N=11), fanout=2)
    assert score.latency_by["Z/MAC"] == steps == 11 // outer * tile + min(11 % outer, tile)
    assert ceil(11 / tile) == 3


def test_imperfect_candidates() -> None:
    """imperfect.md §5.2."""
    assert quotient_steps(11) == [1, 2, 3, 4, 6, 11]
    assert [ceil(11 / m) for m in quotient_steps(11)] == [11, 6, 4, 3, 2, 1]


def test_layouts() -> None:
    """layouts.md §1 to §4."""
    collapse = Collapse.of((2, 3, 64, 128))
    assert collapse.extents == (384, 128)
    assert collapse.coordinates((1, 2, 5, 7)) == (325, 7)
    split = GridSplit.ceil((53, 63), (3, 2))
    assert split.shard_shape == (18, 32)
    assert Tiling((32, 32)).tiles(split.shard_shape) == (1, 1)
    assert [split.valid((row, 0))[0] for row in range(3)] == [18, 18, 17]
    rotation = ModuloRotation(0, 1, (2, 2))
    walk = [rotation.address((i, j)) for i in range(4) for j in range(4)]
    assert len(set(walk)) == 4
    assert walk[0] == walk[2]


def test_wafer_counts_of_a_reduction() -> None:
    """wafer.md §7.2."""
    phases = line_chains(16, "two_phase")
    assert sum(chain.hops for chains in phases for chain in chains) == 24
    assert receives(phases, 16).count(0) == 4
    assert line_chains(16, "chain")[0][0].hops == 15


def test_wafer_generated_trees() -> None:
    """wafer.md §7.3, with the recurrence as it stands there; grid.md §3."""

    def least(most: int, costs: AdditionCosts) -> list[int]:
        done, sent = [0, 0], [0, costs.addition]
        for n in range(2, most + 1):
            done.append(
                min(
                    max(
                        done[n - m] + costs.addition,
                        sent[m] + costs.way + (n - m) * costs.hop,
                    )
                    for m in range(1, n)
                )
            )
            sent.append(done[n])
        return sent

    assert PUBLISHED_COSTS.of(1) == (6, 5, 1)
    assert least(8, PUBLISHED_COSTS.of(1))[8] == 28
    assert least(512, PUBLISHED_COSTS.of(1024))[512] == 2469
    profile, group = load_profile("wse2-sdk-sim"), (512, 1)
    for scheme, cycles in (("chain", 4095), ("auto(1029,5,1)", 2469)):
        assert sums_cycles(group, reduction_scheme(scheme), 1024, profile) == cycles
    chains, snake = (
        sums_cycles((4, 3), reduction_scheme(scheme), 100, profile) for scheme in ("chain", "snake")
    )
    assert (chains, snake) == (2 * 105 + 4 * 6, 105 + 11 * 6)


def test_wafer_two_phases() -> None:
    """wafer.md §8.1: what is left of the recorded cycles."""
    recorded = {2: 10055, 8: 9117, 16: 8989, 32: 8973, 128: 9297}
    left = {s: n - (2 * 4096 + 6 * (s - 1) + (512 // s - 2) * (s + 5)) for s, n in recorded.items()}
    assert left == {2: 79, 8: 77, 16: 77, 32: 77, 128: 77}
