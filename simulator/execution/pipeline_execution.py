"""Several Einsums executed on a grid as one program, run on numbers, compared, counted, priced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.mapper.grid.pipelines.einsum_groups import EinsumGroup
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.execution.action_counts import action_energies, leak_energies, total_hops
from tilewright.simulator.execution.einsum_data import EinsumData, Floats
from tilewright.simulator.execution.einsum_execution import (
    LARGE_GRID,
    ExecutionSettings,
    RunOptions,
    checked_operand,
)
from tilewright.simulator.execution.exchange import ReadyMemories
from tilewright.simulator.execution.operands import AnyArray, WrongResult
from tilewright.simulator.fast.fast_machine import run_fast
from tilewright.simulator.lowering.kernel import COMPUTE
from tilewright.simulator.lowering.number_operations import NUMPY
from tilewright.simulator.lowering.pipelines.joined_colors import port_name
from tilewright.simulator.lowering.pipelines.pipeline_bound import pipeline_bound
from tilewright.simulator.lowering.pipelines.pipeline_plan import PipelinePlan, pipeline_plan
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.tile_values import output_of, resident_tiles, stream_inputs
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import Counts, RunResult, Trace


@dataclass(frozen=True)
class PipelineExecution:
    """What the execution of several Einsums as one program gave.

    `plan`: what was lowered, for the machine of `profile`. `operands`: the tensors that it read;
    `outputs`: those that it computed, but for those that it passed on tile by tile. `memory`:
    (rows, columns, 1, values) what the elements hold at the end, by resident tensor. `cycles`,
    `latency` (s): of the run. `counts`: numbers of actions by `name/component/tensor/action`, of
    all Einsums together; `predicted`: the same without an execution. `energy_by`: joules by
    `einsum/component/tensor/action` and `name/component/leak`. `error_share`: greatest error of a
    result as a share (0 to 1) of its rounding bound. `trace`: of the run.
    """

    plan: PipelinePlan
    profile: Profile
    operands: Mapping[str, AnyArray]
    outputs: Mapping[str, Floats]
    memory: Mapping[str, AnyArray]
    cycles: int
    latency: float
    counts: Mapping[str, int]
    predicted: Mapping[str, int]
    energy_by: Mapping[str, float]
    error_share: float
    find_trace: Callable[[], Trace]

    def __repr__(self) -> str:
        return f"<PipelineExecution {self.name}: {self.cycles:,} cycles>"

    @property
    def name(self) -> str:
        """The names of the Einsums, with a plus between them."""
        return self.plan.name

    @cached_property
    def trace(self) -> Trace:
        """What the run recorded of elements and links."""
        return self.find_trace()

    @cached_property
    def lower_bound_cycles(self) -> int:
        """A number of cycles that no execution of this pipeline goes below."""
        return pipeline_bound(self.plan, self.profile)

    @property
    def energy(self) -> float:
        """Energy in J, with leakage."""
        return float(sum(self.energy_by.values()))

    @property
    def sram_bits(self) -> int:
        """Bits that the tiles of all Einsums take in the memory (SRAM) of one element."""
        return self.plan.words * 16

    @property
    def elements(self) -> int:
        """Number of elements of the grid that the pipeline uses."""
        return int(self.plan.placement.size)

    @property
    def hops(self) -> int:
        """Number of wavelets times the links that each one crosses."""
        return total_hops(self.counts)


def execute_pipeline(
    group: EinsumGroup,
    reads: Sequence[SpaceTime],
    settings: ExecutionSettings,
    known: Mapping[str, AnyArray],
    ready: ReadyMemories,
) -> PipelineExecution:
    """Execute a group of Einsums as one program, and compare its results with numpy.

    `reads`: the mapping of each Einsum on the grid, in order. `known`: whole tensors by name that
    none of them computes. `ready`: what is in the elements' memories before. Raises
    InfeasibleMapping if the group has no program or does not fit, WrongResult if a result or a
    count is wrong, ProgramError if the machine cannot run it.
    """
    profile = settings.profile(reads[0].grid)
    plan = pipeline_plan(group, reads, profile.sram_reserved_bytes, ready.kept)
    given = {
        tensor.name: checked_operand(read, tensor.name, known[tensor.name])
        for read in reads
        for tensor in read.inputs
        if tensor.name not in plan.passed
    }
    memory, edges = _inputs(plan, given)
    options = settings.options(reads[0])
    run = _run(plan, profile, {**memory, **ready.held}, edges, options)
    outputs = _outputs(plan, run)
    predicted = [predict(part.read) for part in plan.plans]
    counts = _checked_counts(plan, run.counts, predicted)
    latency = run.cycles / profile.clock_hz
    return PipelineExecution(
        plan=plan,
        profile=profile,
        operands=given,
        outputs=outputs,
        memory=_left(plan, run),
        cycles=run.cycles,
        latency=latency,
        counts=counts,
        predicted=_together(plan, predicted),
        energy_by=_energies(plan, predicted, latency),
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
    program = plan.program()
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


def _left(plan: PipelinePlan, run: RunResult) -> dict[str, AnyArray]:
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
    own = {
        name.removeprefix(before): words for name, words in edges.items() if name.startswith(before)
    }
    return output_of(part, memory, own)


def _compared(
    plan: PipelinePlan, given: Mapping[str, AnyArray], outputs: Mapping[str, Floats]
) -> float:
    """Return the greatest error of a result as a share of what rounding allows.

    What passes on tile by tile is not seen; its rounding counts in the errors of what follows.
    Raises WrongResult for a result beyond its bound.
    """
    values: dict[str, Any] = dict(given)
    errors: dict[str, Floats] = {}
    worst = 0.0
    for part in plan.plans:
        einsum, name = part.read.workload_einsum, part.read.output.name
        names = {access.tensor for access in einsum.inputs}
        data = EinsumData(
            einsum,
            {n: v for n, v in values.items() if n in names},
            errors={n: e for n, e in errors.items() if n in names},
        )
        if name in outputs:
            worst = max(worst, data.compare(outputs[name], part.additions))
        exact = part.read.numbers.is_integer
        values[name] = data.value.astype(NUMPY[part.read.dtype]) if exact else data.value
        errors[name] = data.error(part.additions)
    return worst


# -- counts --------------------------------------------------------------------------------------


def _together(plan: PipelinePlan, counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Return the counts of all Einsums added up, under the name of the pipeline."""
    total: Counter[str] = Counter()
    for part in counts:
        for key, number in part.items():
            total[f"{plan.name}/{key.split('/', 1)[1]}"] += number
    return dict(sorted(total.items()))


def _checked_counts(
    plan: PipelinePlan, counters: Counts, predicted: Sequence[Mapping[str, int]]
) -> dict[str, int]:
    """Return a run's counts of actions; raises WrongResult if they are not the predicted ones."""
    counts, expected = _counted(plan, counters), _together(plan, predicted)
    if counts != expected:
        wrong = min(set(counts.items()) ^ set(expected.items()))[0]
        raise WrongResult(
            f"the run counts {counts.get(wrong, 0)} of {wrong}, the model "
            f"{expected.get(wrong, 0)}: please report this"
        )
    return counts


def _counted(plan: PipelinePlan, counters: Counts) -> dict[str, int]:
    """Return a run's counts of actions under the keys of `_together`.

    Raises WrongResult if other words entered than those offered.
    """
    grid, name, words, left = plan.plans[0].read.grid, plan.name, _entering(plan), _leaving(plan)
    if sum(words.values()) != counters.edge_in_words:
        raise WrongResult(
            f"{counters.edge_in_words} words entered the grid, {sum(words.values())} were "
            "offered: please report this"
        )
    if sum(left.values()) != counters.edge_out_words:
        raise WrongResult(f"{counters.edge_out_words} words left the grid: please report this")
    fabric = grid.fabric.name if grid.fabric is not None else "fabric"
    memory, compute = f"{name}/{grid.memory.name}", f"{name}/{grid.compute.name}"
    counts = {
        **{f"{memory}/{tensor}/read": n for tensor, n in counters.memory_reads.items()},
        **{f"{memory}/{tensor}/write": n for tensor, n in counters.memory_writes.items()},
        **{f"{name}/{grid.host.name}/{tensor}/read": n for tensor, n in words.items()},
        **{f"{name}/{grid.host.name}/{tensor}/write": n for tensor, n in left.items()},
        f"{name}/{fabric}/None/hop": counters.wavelet_hops,
        f"{compute}/None/compute": counters.maps + counters.labelled.get(COMPUTE, 0),
        f"{compute}/None/add": _added(plan, counters),
    }
    return {key: number for key, number in sorted(counts.items()) if number}


def _added(plan: PipelinePlan, counters: Counts) -> int:
    """Return the values that elements have added to sums of others."""
    labels = [f"add {part.read.output.name}" for part in plan.plans]
    return sum(counters.labelled.get(label, 0) for label in labels)


def _entering(plan: PipelinePlan) -> Counter[str]:
    """Return the words that enter over a border, by tensor."""
    words: Counter[str] = Counter()
    for part in plan.plans:
        for stream in part.streams:
            words[stream.tensor.name] += stream.number * stream.words
    return words


def _leaving(plan: PipelinePlan) -> dict[str, int]:
    """Return the words of each result that leave over the border: all must have come there."""
    leaving: Counter[str] = Counter()
    for part in plan.plans:
        for port in plan.programs[part.read.einsum.name].edge_outputs:
            leaving[part.read.output.name] += port.positions * port.count
    return dict(leaving)


def _energies(
    plan: PipelinePlan, counts: Sequence[Mapping[str, int]], latency: float
) -> dict[str, float]:
    """Return the energies (J) of a run: its actions by Einsum, then what leaks in `latency` s."""
    reads = [part.read for part in plan.plans]
    energies = [action_energies(read, part) for read, part in zip(reads, counts, strict=True)]
    leaks = leak_energies(reads[0], latency)
    return {
        **{key: energy for part in energies for key, energy in part.items()},
        **{f"{plan.name}/{key.split('/', 1)[1]}": energy for key, energy in leaks.items()},
    }
