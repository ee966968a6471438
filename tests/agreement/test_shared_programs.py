"""Designs searched in one process, in any order: the same answers as each in a process of its own.

Programs that designs share may change neither a mapping (which of tied ones), nor a bound, nor the
number of labels.
"""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from tilewright.mapper.fusion import choice_programs
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.shared import mapspace_programs
from tilewright.mapper.searches.shared.hit_counts import KEEPING, STRUCTURES
from tilewright.mapper.searches.shared.known_structures import KnownStructures
from tilewright.mapper.workload.errors import InfeasibleMapping

ARCH = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: {watts}
    tensors: {{keep: ~Intermediates, may_keep: All}}
    actions:
    - {{name: read, energy: {dram}, throughput: {speed}}}
    - {{name: write, energy: {dram}, throughput: {speed}}}
  - !Memory
    name: BUF
    size: {size}
    tensors: {{keep: ~DRAM, may_keep: All}}
    actions:
    - {{name: read, energy: {buf}, throughput: 8}}
    - {{name: write, energy: 1.25, throughput: 8}}
  - !Container
    name: GRID
    spatial: [{{name: x, fanout: {lanes}, may_reuse: input}}, {{name: y, fanout: 2}}]
  - !Memory
    name: REG
    size: {registers}
    tensors: {{keep: {kept}}}
    actions: [{{name: read, energy: 0.125, throughput: inf}}, {{name: write, energy: 0.25}}]
    total_latency: 0
  - !Compute
    name: MAC
    actions: [{{name: compute, energy: 0.5, throughput: 1}}]
"""
ONE = """\
workload:
  rank_sizes: {M: 4, K: 12, N: 6}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "C[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: C}}
"""
TWO = (
    ONE + '  - {einsum: "D[m, p] = C[m, n] * E[n, p]", renames: {input: C, weight: E, output: D}}\n'
)
TWO = TWO.replace("N: 6", "N: 6, P: 4")
KNOBS: dict[str, tuple[Any, ...]] = {
    "dram": (10, 40, 100), "speed": (2, 8), "size": (200, 800, 1600, "inf"),
    "buf": (1, 2), "lanes": (2, 4), "registers": (24, 48), "watts": (0, 0.5),
    "kept": ("output",),
}  # fmt: skip


def answer(design: dict[str, Any], workload: str, **options: Any) -> str:
    """Return all that a search says about a design, but for the seconds that it took."""
    try:
        result = search(ARCH.format(**design), workload, **options)
    except InfeasibleMapping as error:
        return str(error)
    best, statistics = result.best, result.statistics
    counts = (statistics.templates, statistics.states, statistics.labels, statistics.solved)
    return repr((best.mapping, best.score, result.front, result.certificate, result.notes, counts))


def check(designs: int, workload: str, seed: int, **options: Any) -> None:
    rng = random.Random(seed)
    drawn = rng.sample(
        [dict(zip(KNOBS, v, strict=True)) for v in product(*KNOBS.values())], designs
    )
    with pytest.MonkeyPatch.context() as patched:
        einsums, choices = KnownStructures[Any](), KnownStructures[Any]()
        patched.setattr(KEEPING, "enabled", True)
        patched.setattr(mapspace_programs, "KNOWN", einsums)
        patched.setattr(choice_programs, "KNOWN_CHOICES", choices)
        alone, before = [], STRUCTURES.shared
        for design in drawn:
            einsums.clear()
            choices.clear()
            alone.append(answer(design, workload, **options))
        shared_alone = STRUCTURES.shared - before  # by the searches of one design
        order = rng.sample(range(designs), designs)
        assert [answer(drawn[i], workload, **options) for i in order] == [alone[i] for i in order]
        assert STRUCTURES.shared - before > 2 * shared_alone + designs // 4


def test_designs_alone_and_together() -> None:
    check(5, ONE, 1, objective="edp")
    check(5, ONE, 2, objective="energy", front=("energy", "latency"))


def test_where_a_sample_of_templates_needs_too_few_columns_all_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    design = {name: values[-1] for name, values in KNOBS.items()}
    monkeypatch.setattr(mapspace_programs, "KNOWN", KnownStructures[Any]())
    monkeypatch.setattr(KEEPING, "enabled", False)
    expected = answer(design, ONE, objective="edp")
    asked: list[int] = []

    def one_template(templates: tuple[Any, ...], *_: object) -> tuple[Any, ...]:
        asked.append(len(templates))
        return templates[:1]

    monkeypatch.setattr(mapspace_programs, "sampled_templates", one_template)
    assert answer(design, ONE, objective="edp") == expected
    assert asked


def test_nothing_is_kept_where_the_memory_of_the_process_is_limited() -> None:
    design = {name: values[0] for name, values in KNOBS.items()}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mapspace_programs, "KNOWN", KnownStructures[Any]())
        asked = STRUCTURES.asked
        for _ in range(2):
            assert answer(design, ONE, max_memory=1e12) == answer(design, ONE, max_memory=1e12)
        assert STRUCTURES.asked == asked


@pytest.mark.nightly
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
@pytest.mark.parametrize("workload", [ONE, TWO])
@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_many_designs_alone_and_together(objective: str, workload: str, conventions: str) -> None:
    check(20, workload, 3, objective=objective, conventions=conventions)
