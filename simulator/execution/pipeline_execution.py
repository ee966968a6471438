"""Several Einsums executed on a grid as one program, run on numbers, compared, counted, priced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.mapper.grid.pipelines.einsum_groups import EinsumGroup
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.exchanges.exchange_execution import ExchangeExecution
from tilewright.simulator.execution.action_counts import action_energies, leak_energies
from tilewright.simulator.execution.checked_run import CheckedRun, check_counts
from tilewright.simulator.execution.drawn_operands import AnyArray, WrongResult
from tilewright.simulator.execution.einsum_execution import (
    LARGE_GRID,
    ExecutionSettings,
    RunOptions,
    checked_operand,
)
from tilewright.simulator.execution.exchange import ReadyMemories
from tilewright.simulator.execution.values.compared_chain import compared_chain
from tilewright.simulator.execution.values.exact_products import Floats
from tilewright.simulator.fast.fast_machine import run_fast
from tilewright.simulator.lowering.elementary import COMPUTE
from tilewright.simulator.lowering.pipelines.joined_colors import port_name
from tilewright.simulator.lowering.pipelines.pipeline_bound import pipeline_bound
from tilewright.simulator.lowering.pipelines.pipeline_plan import PipelinePlan, pipeline_plan
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.tile_values import output_of, resident_tiles, stream_inputs
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import Counts, RunResult


@dataclass(frozen=True, kw_only=True, repr=False)
class PipelineExecution(CheckedRun):
    """What the execution of several Einsums as one program gave.

    `plan`: what was lowered. `outputs`: the tensors that it computed, but for those that it passed
    on tile by tile. Its counts are of all Einsums together; `energy_by` has the keys of each
    Einsum, and what leaks under the pipeline's name.
    """

    plan: PipelinePlan
    outputs: Mapping[str, Floats]

    @property
    def name(self) -> str:
        """The names of the Einsums, with a plus between them."""
        return self.plan.name

    def program(self) -> Program:
        """Return the program that ran."""
        return self.plan.program(self.profile)

    @cached_property
    def lower_bound_cycles(self) -> int:
        """A number of cycles that no execution of this pipeline goes below."""
        return pipeline_bound(self.plan, self.profile) * self.instances

    @property
    def instances(self) -> int:
        """How often the Einsums run, each time with other data; one instance ran."""
        return self.plan.instances

    @property
    def instance_cycles(self) -> int:
        """Cycles of one instance, those of the trace and of the timeline."""
        return self.cycles // self.instances

    @property
    def sram_bits(self) -> int:
        """Bits that the tiles of all Einsums take in the memory (SRAM) of one element."""
        return self.plan.words * 16

    @property
    def elements(self) -> int:
        """Number of elements of the grid that the pipeline uses."""
        return int(self.plan.placement.size)


def execute_pipeline(
    group: EinsumGroup,
    reads: Sequence[SpaceTime],
    settings: ExecutionSettings,
    tensors: Mapping[str, AnyArray],
    ready: ReadyMemories[ExchangeExecution],
) -> PipelineExecution:
    """Execute a group of Einsums as one program, and compare its results with numpy.

    `reads`: the mapping of each Einsum on the grid, in order. `tensors`: whole ones by name that
    none of them computes. `ready`: what is in the elements' memories before. Raises
    InfeasibleMapping if the group has no program or does not fit, WrongResult if a result or a
    count is wrong, ProgramError if the machine cannot run it.
    """
    profile = settings.profile(reads[0].grid)
    plan = pipeline_plan(
        group, reads, profile.sram_reserved_bytes, ready.kept, profile.border_channels
    )
    given = {
        name: checked_operand(read, name, tensors[name])
        for read in reads
        for name in dict.fromkeys(access.values_of for access in read.einsum.inputs)
        if name not in plan.passed
    }
    memory, edges = _inputs(plan, given)
    options = settings.options(reads[0])
    run = _run(plan, profile, {**memory, **ready.held}, edges, options)
    outputs = _outputs(plan, run)
    predicted = [predict(part.read) for part in plan.plans]
    counts, expected = _counted(plan, run.counts), counts_together(plan, predicted)
    check_counts(counts, expected)
    cycles = run.cycles * plan.instances
    latency = cycles / profile.clock_hz
    return PipelineExecution(
        plan=plan,
        profile=profile,
        operands=given,
        outputs=outputs,
        memory=_kept_tiles(plan, run),
        cycles=cycles,
        latency=latency,
        counts=counts,
        predicted=expected,
        energy_by=pipeline_energies(plan, predicted, latency),
        error_share=_compared(plan, given, outputs),
        find_trace=lambda: run.trace,
    )


def _run(
    plan: PipelinePlan,
    profile: Profile,
    memory: Mapping[str, Any],
    edges: Mapping[str, Any],
    options: RunOptions,
) -> RunResult:
    """Run the program by the reference engine, or on a large grid by the fast one."""
    program = plan.program(profile)
    if program.placement.size >= LARGE_GRID:
        return run_fast(program, profile, memory, edges, options.timeline).result
    machine = Machine(program, profile)
    machine.stop = options.stop
    return machine.run(memory=memory, edges=edges, timeline=options.timeline)


def _outputs(plan: PipelinePlan, run: RunResult) -> dict[str, Floats]:
    """Return the results that do not pass, from the memories or the words that left."""
    streams = {name: stream.values for name, stream in run.edges.items()}
    return {
        part.read.output.name: _output(part, run.memory, streams)
        for part in plan.plans
        if part.read.output.name not in plan.passed
    }


def _kept_tiles(plan: PipelinePlan, run: RunResult) -> dict[str, AnyArray]:
    """Return what the elements hold at the end of the tensors that are whole in them."""
    return {
        tensor.name: np.asarray(run.memory[tensor.name])
        for part in plan.plans
        for tensor in part.read.tensors
        if tensor.resident and tensor.name not in plan.passed
    }


def _inputs(
    plan: PipelinePlan, given: Mapping[str, AnyArray]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the start values of the memories, and the values that enter at the border."""
    memory: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    for part in plan.plans:
        read, name = part.read, part.read.einsum.name
        tiles = resident_tiles(part, given, leave=plan.passed)
        for tensor, gathered in tiles.items():
            memory[tensor] = gathered.values().reshape(read.rows, read.columns, 1, -1)
        entering = stream_inputs(part, given)
        edges |= {port_name(name, port): values for port, values in entering.items()}
    return memory, edges


def _output(part: Plan, memory: Mapping[str, Any], edges: Mapping[str, Any]) -> Floats:
    """Return the result of one Einsum from the memories or the words that left."""
    before = port_name(part.read.einsum.name, "")
    by_port = {
        name.removeprefix(before): words for name, words in edges.items() if name.startswith(before)
    }
    return output_of(part, memory, by_port)


def _compared(
    plan: PipelinePlan, given: Mapping[str, AnyArray], outputs: Mapping[str, Floats]
) -> float:
    """Return the greatest error of a result as a share of what rounding allows.

    What passes on tile by tile is not seen; its rounding counts in the errors of what follows.
    Raises WrongResult for a result beyond its bound.
    """
    return max(
        (each.share for each in compared_chain(plan.plans, given, outputs).values()), default=0
    )


# -- counts --------------------------------------------------------------------------------------


def counts_together(plan: PipelinePlan, counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the counts of all Einsums added up, under the name of the pipeline."""
    total: Counter[str] = Counter()
    for part in counts:
        for key, number in part.items():
            total[f"{plan.name}/{key.split('/', 1)[1]}"] += number
    return dict(sorted(total.items()))


def _counted(plan: PipelinePlan, counters: Counts) -> dict[str, int]:
    """Return a run's counts of actions under the keys of `counts_together`.

    Raises WrongResult if other words entered than those offered.
    """
    grid, name = plan.plans[0].read.grid, plan.name
    words, entering = _entering(plan)
    if words != counters.edge_in_words:
        raise WrongResult(
            f"{counters.edge_in_words} words entered the grid, {words} were offered: please report "
            "this"
        )
    words, leaving = _leaving(plan)
    if words != counters.edge_out_words:
        raise WrongResult(f"{counters.edge_out_words} words left the grid: please report this")
    fabric = grid.fabric.name if grid.fabric is not None else "fabric"
    memory, compute = f"{name}/{grid.memory.name}", f"{name}/{grid.compute.name}"
    counts = {
        **{f"{memory}/{tensor}/read": n for tensor, n in counters.memory_reads.items()},
        **{f"{memory}/{tensor}/write": n for tensor, n in counters.memory_writes.items()},
        **{f"{name}/{grid.host.name}/{tensor}/read": n for tensor, n in entering.items()},
        **{f"{name}/{grid.host.name}/{tensor}/write": n for tensor, n in leaving.items()},
        f"{name}/{fabric}/None/hop": counters.wavelet_hops,
        f"{compute}/None/compute": counters.labelled.get(COMPUTE, 0),
        f"{compute}/None/add": _added(plan, counters),
    }
    return {key: number * plan.instances for key, number in sorted(counts.items()) if number}


def _added(plan: PipelinePlan, counters: Counts) -> int:
    """Return the values that elements have added to sums of others."""
    labels = [f"add {part.read.output.name}" for part in plan.plans]
    return sum(counters.labelled.get(label, 0) for label in labels)


def _entering(plan: PipelinePlan) -> tuple[int, Counter[str]]:
    """Return the words that enter over a border, and their values by tensor."""
    values: Counter[str] = Counter()
    words = 0
    for part in plan.plans:
        for stream in part.streams:
            words += stream.number * stream.words
            values[stream.tensor.name] += stream.entering_values
    return words, values


def _leaving(plan: PipelinePlan) -> tuple[int, Counter[str]]:
    """Return the words that leave over the border, and the values of each result.

    All must have come there.
    """
    leaving: Counter[str] = Counter()
    total = 0
    for part in plan.plans:
        output = part.read.output
        for port in plan.programs[part.read.einsum.name].edge_outputs:
            words = port.positions * port.count
            total += words
            leaving[output.name] += words * part.read.values_per_wavelet(output)
    return total, leaving


def pipeline_energies(
    plan: PipelinePlan, counts: Sequence[Mapping[str, int]], latency: float
) -> dict[str, float]:
    """Return the energies (J) of a run: its actions by Einsum, then what leaks in `latency` s."""
    reads = [part.read for part in plan.plans]
    energies = [action_energies(read, part) for read, part in zip(reads, counts, strict=True)]
    return {
        **{key: energy for part in energies for key, energy in part.items()},
        **leak_energies(reads[0], latency, plan.name),
    }
