"""Cascades and random mappings of them that run as one program on the shipped grid of elements."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from cascades import cascade_arch
from grid_mappings import SCHEMES

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.pipelines.einsum_groups import einsum_groups, in_sequence
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.lowering.pipelines.pipeline_plan import PipelinePlan, pipeline_plan

PIPELINES: dict[str, tuple[str, ...]] = {
    "two products": ("S[m, n] = A[m, k] * B[k, n]", "Z[m, l] = S[m, n] * C[n, l]"),
    "product, row sums": ("S[m, n] = A[m, k] * B[k, n]", "Z[m] = S[m, n]"),
    "two layers": (
        "H[m, n] = A[m, k] * B[k, n]",
        "G[m, n] = relu(H[m, n])",
        "Z[m, l] = G[m, n] * C[n, l]",
    ),
    "attention": (
        "S[m, n] = A[m, k] * B[n, k]",
        "Top[m] = max(S[m, n])",
        "E[m, n] = exp(S[m, n] - Top[m])",
        "Sum[m] = sum(E[m, n])",
        "P[m, n] = E[m, n] / Sum[m]",
        "Z[m, l] = P[m, n] * C[n, l]",
    ),
    "residual": ("S[m, n] = square(A[m, n])", "Z[m, n] = S[m, n] + A[m, n]"),
    "elementwise": ("S[m, n] = square(A[m, n])", "T[m, n] = S[m, n] + B[n]", "Z[m] = T[m, n]"),
}
"""Name and Einsums; m goes through all of them, and n is summed over where it is in no result."""


@dataclass(frozen=True)
class PipelineCase:
    """A mapping whose Einsums run as one program, and what it is a mapping of."""

    arch: Arch
    workload: Workload
    mapping: Mapping

    def in_sequence(self) -> Mapping:
        """The same loops, the Einsums one after the other."""
        path = grid_path(self.arch, self.workload, self.workload.einsums[0])
        grid = grid_of(path)
        return in_sequence(einsum_groups(self.mapping, self.workload, grid), grid)


def pipeline_reads(case: PipelineCase, mapping: Mapping) -> tuple[SpaceTime, ...]:
    """The mapping of each Einsum of a case, whose Einsums are one pipeline of another mapping."""
    paths = {e.name: grid_path(case.arch, case.workload, e) for e in case.workload.einsums}
    (group,) = einsum_groups(mapping, case.workload, grid_of(next(iter(paths.values()))))
    return tuple(
        space_time(paths[name], case.workload.einsum(name), own, group.passed, group.passed)
        for name, own in group.mappings.items()
    )


def plan_of_pipeline(case: PipelineCase, mapping: Mapping | None = None) -> PipelinePlan:
    """The plan of a case, or of another mapping of its workload, without an execution."""
    mapping = mapping or case.mapping
    path = grid_path(case.arch, case.workload, case.workload.einsums[0])
    (group,) = einsum_groups(mapping, case.workload, grid_of(path))
    return pipeline_plan(group, pipeline_reads(case, mapping))


@cache
def pipeline_workload(name: str, sizes: tuple[tuple[str, int], ...], resident: str) -> Workload:
    """The workload of one cascade; `resident`: its persistent tensors, or none."""
    einsums = "\n".join(f'  - "{text}"' for text in PIPELINES[name])
    used = " ".join(PIPELINES[name])
    shapes = ", ".join(f"{v.upper()}: {size}" for v, size in sizes if f"{v}]" in used or
                       f"{v}," in used)  # fmt: skip
    text = (
        f"workload:\n  rank_sizes: {{{shapes}}}\n  bits_per_value: {{All: 32}}\n"
        + (f"  persistent_tensors: {resident}\n" if resident else "")
        + f"  einsums:\n{einsums}\n"
    )
    return load_workload(load_document(f"{name}.yaml", text=text))


@dataclass(frozen=True)
class _Choices:
    """What a mapping of a cascade takes: `over` is the variable of the turns.

    `registers`: products have an operand in the register; `sums_inside`: their loops over what is
    summed are the inner ones, which may become maps.
    """

    over: str
    columns: int
    rows: int
    tile: int
    schemes: tuple[str, ...]
    registers: bool
    sums_inside: bool = True


def random_pipeline(seed: int) -> PipelineCase:
    """A random mapping of a random cascade: turns over the rows, or over what is summed at the end.

    Rows of the grid share m; columns share n, or what the first product sums over.
    """
    rng = random.Random(seed)
    name = rng.choice(sorted(PIPELINES))
    over = "n" if name == "two products" and rng.random() < 0.5 else "m"
    columns, rows = rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 3))
    tile, turns = rng.choice((1, 2, 3)), rng.choice((1, 2, 3))
    sizes = {"m": rows * tile * (turns if over == "m" else 1), "k": columns * rng.choice((1, 2, 3))}
    sizes["n"] = tile * turns if over == "n" else columns * rng.choice((1, 2, 4))
    sizes["l"] = columns * rng.choice((1, 2)) if over == "n" else rng.choice((1, 3, 4))
    weights = [t for t in ("B", "C") if f" {t}[" in " ".join(PIPELINES[name])]
    resident = " | ".join(weights) if rng.random() < 0.7 else ""
    schemes = tuple(rng.choice([s for s in SCHEMES if s]) for _ in PIPELINES[name])
    workload = pipeline_workload(name, tuple(sorted(sizes.items())), resident)
    choices = _Choices(over, columns, rows, tile, schemes, rng.random() < 0.8, rng.random() < 0.5)
    return PipelineCase(cascade_arch(columns, rows), workload, _mapping(workload, choices))


EXAMPLES = ("two layers", "attention")
"""Cascades on 8 × 8 elements: rows of the first operand over Y, columns of the scores over X."""


def example(name: str, turns: int) -> PipelineCase:
    """A cascade with 64 rows on 8 × 8 elements, whose 8 rows of an element come in some turns."""
    sizes = {"m": 64, "n": 64, "k": 16, "l": 16}
    workload = pipeline_workload(name, tuple(sorted(sizes.items())), "B | C")
    choices = _Choices("m", 8, 8, 8 // turns, ("chain",) * len(PIPELINES[name]), True)
    return PipelineCase(cascade_arch(8, 8), workload, _mapping(workload, choices))


def _mapping(workload: Workload, choices: _Choices) -> Mapping:
    einsums = workload.einsums
    computed = {access.tensor for einsum in einsums for access in einsum.outputs}
    host = [
        t
        for t in workload.tensors
        if (t not in computed or t == "Z")
        and not any(a.persistent for e in einsums for a in e.accesses if a.tensor == t)
    ]
    sizes = {name: size for einsum in einsums for name, size in einsum.bounds.items()}
    above: list[Node] = [Storage(tuple(host), "Host")]
    if choices.rows > 1:
        above.append(Spatial("m", sizes["m"] // choices.rows, "Y", "Grid"))
    above.append(Temporal(choices.over, choices.tile))
    branches = [
        _branch(einsum, choices, scheme)
        for einsum, scheme in zip(einsums, choices.schemes, strict=True)
    ]
    return Mapping((*above, Sequential(tuple(branches), "Pipeline")))


def _branch(einsum: Einsum, choices: _Choices, scheme: str) -> tuple[Node, ...]:
    output = einsum.outputs[0]
    along = _along_x(einsum, choices)
    nodes: list[Node] = []
    if along is not None and choices.columns > 1:
        nodes.append(Spatial(along, einsum.bounds[along] // choices.columns, "X", "Grid"))
    summed = along is not None and along not in output.rank_variables
    chosen = scheme if summed else "chain"
    shared = f"all_reduce({chosen})" if summed and output.tensor != "Z" else chosen
    nodes.append(Storage(tuple(access.tensor for access in einsum.inputs), "SRAM"))
    nodes.append(Storage((output.tensor,), "SRAM", reduction=shared))
    kept = [name for name in einsum.bounds if name in output.rank_variables]
    summed_over = [name for name in einsum.bounds if name not in kept]
    loops = [*kept, *summed_over] if choices.sums_inside else [*summed_over, *kept]
    is_product = len(einsum.inputs) == 2 and einsum.formula is None and choices.registers
    first = einsum.inputs[0]
    below = [name for name in kept if name not in first.rank_variables]
    if is_product and below:
        outer = [name for name in loops if name not in below]
        nodes += [Temporal(name, 1) for name in outer]
        nodes.append(Storage((first.tensor,), "Scalar"))
        nodes += [Temporal(name, 1) for name in below]
    else:
        nodes += [Temporal(name, 1) for name in loops]
    return (*nodes, ComputeNode(einsum.name, "Engine"))


def _along_x(einsum: Einsum, choices: _Choices) -> str | None:
    """The variable that the columns share: n, or with turns over n what each product has beside."""
    if choices.over == "m":
        return "n"
    return next((name for name in ("k", "l") if name in einsum.bounds), None)


def page_row(name: str, turns: int) -> str:
    """A row of docs/validation/pipelines.md: an example as a pipeline, and Einsum after Einsum."""
    case = example(name, turns)
    pipeline = execute(case.arch, case.workload, case.mapping)
    sequence = execute(case.arch, case.workload, case.in_sequence())
    (run,) = pipeline.pipelines
    tiles = {t.name: t.values for plan in run.plan.plans for t in plan.read.tensors}
    passing = 4 * sum(values for tensor, values in tiles.items() if tensor in run.plan.passed)
    return (
        f"| {name} | {turns} | {run.cycles:,} | {sequence.cycles:,} | "
        f"{run.lower_bound_cycles:,} | {passing:,} | {passing * turns:,} |"
    )
