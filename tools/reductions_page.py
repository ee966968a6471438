"""Compute docs/validation/reductions.md: cycles of the schemes of reductions, and their bounds.

Run `python tools/reductions_page.py` to write the page anew; a test compares it. Each figure is
that of a mapping, lowered and run on the machine `wse2-sdk-sim`. The prose is in
reductions_page.md.j2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from jinja2 import StrictUndefined, Template

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.schemes.line_costs import PUBLISHED_COSTS
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.mapper.mapping import mapping as nodes_of
from tilewright.mapper.mapping.mapping import ComputeNode, Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.examples.ring_all_reduce import ring_all_reduce
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.cycle_bound import lower_bound
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of
from tilewright.simulator.lowering.sums.sum_chains import line_costs, sums_cycles
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

ROOT = Path(__file__).parent.parent
TEMPLATE = Path(__file__).parent / "reductions_page.md.j2"
PAGE = ROOT / "docs" / "validation" / "reductions.md"
HARDWARE = ROOT / "studies" / "hardware" / "wafer_grid.yaml"
PROFILE = load_profile("wse2-sdk-sim")
RECORDED = ((2, 10055), (8, 9117), (16, 8989), (32, 8973), (128, 9297), (512, 7218))
"""(elements per group, recorded cycles) for 512 × 4096 f32; one group of all is the chain."""
UNEVEN = ((500, 32), (500, 7), (100, 30), (67, 8))
"""(elements, elements per group) that do not divide each other."""
LENGTHS = (4, 8, 16, 32, 64, 128, 256, 512)
WORDS = (1, 16, 64, 256, 1024, 4096)
SIDES = ((4, 4), (8, 8), (16, 16), (32, 32), (16, 4))
SHARED = ((4, 16), (4, 1024), (8, 256), (16, 256), (16, 4096), (64, 64), (64, 1024), (64, 4096))
"""(elements, words) of all-reduces."""
SHARED_SCHEMES = ("ring", "chain", "auto")
SHARED_SIDES, SHARED_WORDS = (4, 8), (64, 256, 1024)
MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")
RAMP = 5
"""2 T_R + 1 of the published forms."""


@dataclass(frozen=True)
class Size:
    """A reduction: columns and rows of elements, and f32 words of each of their vectors."""

    columns: int
    rows: int
    words: int


@cache
def plan(size: Size, scheme: str, *, stays: bool = False) -> Plan:
    """Return the plan of a reduction of vectors that lie in the elements; `stays`: its result."""
    text = (
        f"workload:\n  rank_sizes: {{K: {size.columns}, J: {size.rows}, N: {size.words}}}\n"
        "  bits_per_value: {All: 32}\n  persistent_tensors: A\n"
        '  einsums: ["Z[n] = A[j, k, n]"]\n'
    )
    workload = load_workload(load_document("reduction.yaml", text=text))
    values = {"variables.GridX": size.columns, "variables.GridY": size.rows}
    flat = grid_path(load_arch(HARDWARE).with_values(values), workload, workload.einsums[0])
    nodes: list[Node] = [
        *([] if stays else [Storage(("Z",), "Host")]),
        Spatial("k", 1, "X", "Grid"),
        Spatial("j", 1, "Y", "Grid"),
        Storage(("A",), "SRAM"),
        Storage(("Z",), "SRAM", reduction=scheme),
        *([Temporal("n", 1)] if size.words > 1 else []),
        ComputeNode("Z", "Engine"),
    ]
    read = space_time(flat, workload.einsums[0], nodes_of.Mapping(tuple(nodes)))
    return plan_of(read, PROFILE.sram_reserved_bytes)


@cache
def cycles(size: Size, scheme: str) -> int | None:
    """Return the cycles of a reduction behind the copy of the first vector; None if refused."""
    try:
        whole = Machine(program_of(plan(size, scheme)), PROFILE).cycles()
    except (InfeasibleMapping, ProgramError):
        return None
    return whole - copy_cycles(size.words)


@cache
def copy_cycles(words: int) -> int:
    """Return the cycles in which an element copies its vector into its partial sum."""
    return Machine(program_of(plan(Size(1, 1, words), "chain", stays=True)), PROFILE).cycles()


def groups_of(elements: int) -> range:
    return range(2, max(3, elements // 2 + 1))


def best_groups(size: Size) -> str:
    """Return two phases with the groups of the least closed form of the machine."""
    length = max(size.columns, size.rows)
    return min(
        (f"two_phase({group})" for group in groups_of(length)),
        key=lambda scheme: sums_cycles(
            (size.columns, size.rows), reduction_scheme(scheme), size.words, PROFILE
        ),
    )


def of_all_trees(elements: int, words: int) -> int:
    """Return the least cycles of all pre-order trees, without limits of sums and phases."""
    addition, way, hop = PUBLISHED_COSTS.of(words)
    done = np.zeros(elements + 1, dtype=np.int64)
    sent = np.zeros(elements + 1, dtype=np.int64)
    sent[1] = addition
    for n in range(2, elements + 1):
        m = np.arange(1, n)
        done[n] = sent[n] = np.maximum(done[n - m] + addition, sent[m] + way + (n - m) * hop).min()
    return int(sent[elements])


@cache
def least_energy(elements: int) -> np.ndarray:
    """Return the fewest links that a word crosses in a tree, by its depth 0, 1, …: HPDC's E*."""
    never = 1 << 40
    energy = np.full((elements, elements + 1), never, dtype=np.int64)  # by depth and elements
    energy[:, 1] = 0
    for n in range(2, elements + 1):
        m = np.arange(1, n)
        energy[1:, n] = (energy[1:, n - m] + energy[:-1, m] + (n - m)).min(axis=1)
    return energy[:, elements]


def published_bound(elements: int, words: int) -> float:
    """Return min over D of B E*(P, D) / (P - 1) + P - 1 + (2 T_R + 1) D."""
    energy = least_energy(elements)[1:]
    depth = np.arange(1, elements)
    return float((words * energy / (elements - 1) + elements - 1 + RAMP * depth).min())


def recorded_rows(recorded: Iterable[tuple[int, int]] = RECORDED) -> Iterator[str]:
    """Return rows: the scheme of a mapping, its cycles, the recorded ones, the difference."""
    size = Size(512, 1, 4096)
    for group, published in recorded:
        scheme = "chain" if group == size.columns else f"two_phase({group})"
        found = cycles(size, scheme)
        assert found is not None
        yield f"| {scheme} | {found} | {published} | {found / published - 1:+.2%} |"


def uneven_rows() -> Iterator[str]:
    """Return rows of groups that do not divide the line, beside the form of equal groups."""
    for elements, group in UNEVEN:
        scheme, words = f"two_phase({group})", 256
        found = cycles(Size(elements, 1, words), scheme)
        assert found is not None
        groups = -(-elements // group)
        form = 2 * words + elements - 1 + RAMP * (group - 1 + groups - 1)
        last = elements - group * (groups - 1)
        yield f"| {elements} | {group} | {last} | {found} | {form} | {found / form - 1:+.2%} |"


@dataclass(frozen=True)
class Line:
    """Cycles of each scheme on a line (None if refused), the group of two phases, and bounds."""

    size: Size
    found: Mapping[str, int | None]
    group: str
    bound: int
    trees: int
    published: float

    @property
    def auto(self) -> int:
        cycles = self.found["auto"]
        assert cycles is not None
        return cycles

    @property
    def least(self) -> int:
        return min(value for value in self.found.values() if value is not None)

    @property
    def by_published(self) -> float:
        """The best scheme's cycles by the published bound."""
        return self.least / self.published

    def __str__(self) -> str:
        shown = " | ".join("–" if value is None else f"{value:,}" for value in self.found.values())
        best = ", ".join(name for name, value in self.found.items() if value == self.least)
        return (
            f"| {self.size.columns} | {self.size.words:,} | {shown} | {self.group} | {best} | "
            f"{self.bound:,} | {self.trees:,} | {self.published:,.0f} | {self.by_published:.2f} |"
        )


def line(size: Size) -> Line:
    """Return what the schemes take on a line of elements."""
    two_phases = best_groups(size)
    schemes = {"chain": "chain", "tree": "tree", "two phases": two_phases, "auto": "auto"}
    return Line(
        size=size,
        found={name: cycles(size, scheme) for name, scheme in schemes.items()},
        group=two_phases.removeprefix("two_phase(").removesuffix(")"),
        bound=lower_bound(plan(size, "auto"), PROFILE) - copy_cycles(size.words),
        trees=of_all_trees(size.columns, size.words),
        published=published_bound(size.columns, size.words),
    )


GRID_SCHEMES = ("chain", "y_first(chain)", "auto", "y_first(auto)", "snake")


def grid_rows(sides: Iterable[tuple[int, int]] = SIDES) -> Iterator[str]:
    """Return rows of groups of two sides: each scheme's cycles, and the best one."""
    for columns, rows in sides:
        for words in WORDS:
            size = Size(columns, rows, words)
            found = {scheme: cycles(size, scheme) for scheme in GRID_SCHEMES}
            least = min(value for value in found.values() if value is not None)
            shown = " | ".join(f"{value:,}" for value in found.values())
            best = ", ".join(f"`{name}`" for name, value in found.items() if value == least)
            yield f"| {columns} × {rows} | {words:,} | {shown} | {best} |"


def shared_rows() -> Iterator[str]:
    """Return rows of all-reduces on a line: by hand, and by the schemes of mappings."""
    for machine, (elements, words) in product(MACHINES, SHARED):
        by_hand = Machine(ring_all_reduce(elements, words), load_profile(machine)).cycles()
        found = {s: shared_cycles(Size(elements, 1, words), s, machine) for s in SHARED_SCHEMES}
        shown = " | ".join(f"{value:,}" for value in (by_hand, *found.values()))
        yield f"| {machine[:4]} | {elements} | {words:,} | {shown} | {best_of(found)} |"


def shared_grid_rows() -> Iterator[str]:
    """Return rows of all-reduces of groups of two sides."""
    for machine, side, words in product(MACHINES, SHARED_SIDES, SHARED_WORDS):
        size = Size(side, side, words)
        found = {s: shared_cycles(size, s, machine) for s in (*SHARED_SCHEMES, "snake")}
        shown = " | ".join(f"{value:,}" for value in found.values())
        yield f"| {machine[:4]} | {side} × {side} | {words:,} | {shown} | {best_of(found)} |"


def best_of(found: Mapping[str, int]) -> str:
    """Return the schemes of the least cycles."""
    return ", ".join(f"`{name}`" for name, value in found.items() if value == min(found.values()))


def shared_cycles(size: Size, scheme: str, machine: str) -> int:
    """Return the cycles of an all-reduce, behind the copy of the first vector."""
    profile = load_profile(machine)
    line = scheme
    if scheme == "auto":
        line = reduction_scheme(scheme).line_for(size.words, line_costs(profile))
    both = (plan(size, f"all_reduce({line})", stays=True),
            plan(Size(1, 1, size.words), "chain", stays=True))  # fmt: skip
    whole, copy = (Machine(program_of(one), profile).cycles() for one in both)
    return whole - copy


def page() -> str:
    """Return the text of the page."""
    template = Template(TEMPLATE.read_text(encoding="utf-8"), undefined=StrictUndefined)
    lines = [line(Size(elements, 1, words)) for elements in LENGTHS for words in WORDS]
    worse = [found for found in lines if found.auto > found.least]
    but = "; ".join(
        f"P = {w.size.columns}, B = {w.size.words}, {w.auto} instead of {w.least}" for w in worse
    )
    below = 1 - min(found.by_published for found in lines)
    return template.render(
        recorded=list(recorded_rows()),
        uneven=list(uneven_rows()),
        lines=list(map(str, lines)),
        but=f" but {but}" if but else "",
        above_bound=max(found.auto - found.bound for found in lines),
        below_published=f"{below:.0%}".replace("%", " %"),
        most_above=f"{max(found.by_published for found in lines if found.size.columns >= 64):.2f}",
        grids=list(grid_rows()),
        schemes=GRID_SCHEMES,
        shared=list(shared_rows()),
        shared_grids=list(shared_grid_rows()),
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
