"""One Einsum executed on a grid: its mapping lowered, run on numbers, compared, counted, priced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.execution.action_counts import count_actions, run_energies
from tilewright.simulator.execution.checked_run import CheckedRun, check_counts
from tilewright.simulator.execution.drawn_operands import AnyArray, WrongResult, operand_shape
from tilewright.simulator.execution.grid_run import RunRequest, run_by_pattern
from tilewright.simulator.execution.values.einsum_data import EinsumData
from tilewright.simulator.execution.values.exact_products import Floats
from tilewright.simulator.fast.fast_machine import FastMachine, run_fast
from tilewright.simulator.fast.partition_solve import effort_before
from tilewright.simulator.isa.machine_errors import InputDataError
from tilewright.simulator.known.content_store import NOTHING_KEPT as NO_STORE
from tilewright.simulator.known.content_store import ContentStore
from tilewright.simulator.lowering.addresses import NOTHING_KEPT, LeftTensors
from tilewright.simulator.lowering.lower_bound.cycle_bound import lower_bound
from tilewright.simulator.lowering.number_operations import NUMPY
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of
from tilewright.simulator.lowering.tile_values import output_of, run_inputs
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine, Stop
from tilewright.simulator.run.run_data import TimelineRequest
from tilewright.simulator.run.trace import Counts, Trace

LARGE_GRID = 8192
"""Elements from which on the fast engine is tried: on fewer it saves nothing (fast_engine.md)."""
VALUES_ALONE_PAY = 32_000_000
"""Cycles times elements, of a run whose cycles are known, that runs for values alone: some 1.3 s,
and a fifth of it for values alone."""
VALUES_ALONE = "values alone"
"""The engine of runs without queues and routers, whose cycles were known before."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one run goes on: what it records, what ends it early, and what is known of it already.

    `timeline`: the elements whose operations are recorded. `stop`: says that the run is to end.
    `cycles`: of the run, if they are known by the pattern or from a run without values, else None.
    """

    timeline: TimelineRequest = False
    stop: Stop | None = None
    cycles: int | None = None


class TimedPlan(NamedTuple):
    """A plan with the cycles of a run without values, which any equal plan takes."""

    plan: Plan
    cycles: int

    def is_of(self, plan: Plan) -> bool:
        """Return whether a plan is equal: all of it follows from its loops and its addresses."""
        return self.plan.read == plan.read and self.plan.addresses == plan.addresses


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """How mappings are executed.

    `machine`: name of a machine profile, or the path of its file. `overrides`: fields of the
    profile to replace, by name. `seed`: of the random operands. `shown_elements`: how many
    elements, spread evenly over the grid, have their operations recorded in the timeline; 0 for
    none, None for all. `stop`: says that a run is to end, which then raises RunStoppedError; large
    grids run to their end. `threads`: number of long runs that a search does at the same time.
    `timed_plans`: those whose runs take cycles that are known.
    """

    machine: str = "wse2-sdk-sim"
    overrides: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0
    shown_elements: int | None = 0
    stop: Stop | None = None
    threads: int = 1
    known: ContentStore = NO_STORE
    timed_plans: tuple[TimedPlan, ...] = ()

    def profile(self, grid: Grid) -> Profile:
        """Return the profile with the memory size of the architecture, and with the overrides.

        Raises an error of the project if the profile is unknown or an override is no field of it.
        """
        size = int(grid.memory.size) // 8
        return load_profile(self.machine).with_values({"sram_bytes": size, **self.overrides})

    def options(self, read: SpaceTime) -> RunOptions:
        """Return the options of the run of a mapping: what it records, and what ends it."""
        return RunOptions(spread_elements(read, self.shown_elements), self.stop)

    def cycles_of(self, plan: Plan) -> int | None:
        """Return the cycles of a plan's run, None if they are not known."""
        return next((timed.cycles for timed in self.timed_plans if timed.is_of(plan)), None)


@dataclass(frozen=True, kw_only=True, repr=False)
class EinsumExecution(CheckedRun):
    """What the execution of one Einsum gave.

    `plan`: what was lowered. `output`: the result. `engine`: the engine that ran.
    """

    plan: Plan
    output: Floats
    engine: str

    @property
    def name(self) -> str:
        """Name of the Einsum."""
        return self.plan.read.einsum.name

    def program(self) -> Program:
        """Return the program that ran."""
        return program_of(self.plan, self.profile)

    @cached_property
    def lower_bound_cycles(self) -> int:
        """A number of cycles that no execution of this mapping goes below."""
        return lower_bound(self.plan, self.profile) * self.instances

    @property
    def instances(self) -> int:
        """How often the Einsum runs, each time with other data: its `n_instances`.

        One instance ran; the others take as many cycles and actions.
        """
        return self.plan.read.einsum.n_instances

    @property
    def instance_cycles(self) -> int:
        """Cycles of one instance, those of the trace and of the timeline."""
        return self.cycles // self.instances

    @property
    def busy_share(self) -> float | None:
        """Share (0 to 1) of all elements' cycles in which they were busy; None if not recorded."""
        if self.engine == VALUES_ALONE:
            return None
        cycles = self.trace.cycles_by_reason()
        return cycles["busy"] / max(1, sum(cycles.values()))

    @property
    def sram_bits(self) -> int:
        """Bits that the tiles take in the memory (SRAM) of one element."""
        return self.plan.addresses.words * 16

    @property
    def elements(self) -> int:
        """Number of elements of the grid that the mapping uses."""
        return self.plan.read.columns * self.plan.read.rows

    @property
    def utilization(self) -> float:
        """Points of the iteration space that an element computes per cycle, on average."""
        return self.plan.read.workload_einsum.operations / (self.elements * self.instance_cycles)


def execute_plan(
    plan: Plan,
    profile: Profile,
    data: EinsumData,
    options: RunOptions,
    held: Mapping[str, AnyArray] | None = None,
) -> EinsumExecution:
    """Run the program of a plan on numbers, compare the result with numpy, count and price it.

    `data`: operands of the Einsum and its result. `held`: what the elements hold from Einsums
    before, (rows, columns, 1, values) by tensor. Raises WrongResult if the result is not the
    Einsum's, or if counts differ from the predicted ones; ProgramError if the machine of the
    profile cannot run the program, RunStoppedError.
    """
    read = plan.read
    program = program_of(plan, profile)
    request = RunRequest(plan, program, profile, data.operands, held or {})
    run = _run(request, options)
    output = output_of(plan, run.memory, run.edges)
    error_share = data.compare(output, plan.additions).share
    counts, predicted = count_actions(plan, run.counts), predict(read)
    check_counts(counts, predicted)
    cycles = run.cycles * read.einsum.n_instances
    latency = cycles / profile.clock_hz
    return EinsumExecution(
        plan=plan,
        profile=profile,
        operands=data.operands,
        output=output,
        memory=run.memory,
        cycles=cycles,
        latency=latency,
        counts=counts,
        predicted=predicted,
        energy_by=run_energies(read, counts, latency),
        error_share=error_share,
        find_trace=run.find_trace,
        engine=run.engine,
    )


class _EinsumRun(NamedTuple):
    cycles: int
    memory: Mapping[str, AnyArray]
    """(rows, columns, 1, values) of the resident tensors."""
    edges: Mapping[str, AnyArray]
    counts: Counts
    find_trace: Callable[[], Trace]
    engine: str


def _run(request: RunRequest, options: RunOptions) -> _EinsumRun:
    """Run a program by the way that is probably the fastest; all ways give the same result."""
    if options.timeline:
        return _run_engine(request, options)
    cycles = options.cycles
    if request.program.placement.size < LARGE_GRID:
        cycles = _cycles_of_long(request, cycles)
        if cycles is None:
            return _run_engine(request, options)
    run = run_by_pattern(request, cycles)
    if run is None:
        return _run_engine(request, options)
    find_trace = partial(_trace_by_engine, request, options, run.cycles)
    return _EinsumRun(*run, find_trace, VALUES_ALONE)


def _cycles_of_long(request: RunRequest, cycles: int | None) -> int | None:
    """Return the cycles of a long run, if they are known or the fast engine finds them soon.

    None for a run that is not long, too.
    """
    plan, program, profile = request.plan, request.program, request.profile
    least = lower_bound(plan, profile) if cycles is None else cycles
    visits = least * program.placement.size
    if visits < VALUES_ALONE_PAY:
        return None
    return cycles or FastMachine(program, profile, effort=effort_before(visits)).cycles


def _trace_by_engine(request: RunRequest, options: RunOptions, cycles: int) -> Trace:
    """Run a program once more for its trace; it must take the cycles that are known.

    Raises WrongResult if it takes others.
    """
    run = _run_engine(request, options)
    if run.cycles != cycles:
        raise WrongResult(
            f"the engines take {run.cycles} cycles, {cycles} were found before: please report this"
        )
    return run.find_trace()


def _run_engine(request: RunRequest, options: RunOptions) -> _EinsumRun:
    """Run a program by the engine that is likely to be the faster one."""
    plan, program, profile, operands, held = request
    tiles, edges = run_inputs(plan, operands)
    memory = {**tiles, **held}
    if program.placement.size < LARGE_GRID:
        machine = Machine(program, profile)
        machine.stop = options.stop
        result = machine.run(memory=memory, edges=edges, timeline=options.timeline)
        engine = "reference"
    else:
        fast = run_fast(program, profile, memory, edges, options.timeline)
        result, engine = fast.result, fast.engine
    streams = {name: stream.values for name, stream in result.edges.items()}
    resident = [tensor.name for tensor in plan.read.tensors if tensor.resident]
    kept = {name: np.asarray(result.memory[name]) for name in resident}
    return _EinsumRun(result.cycles, kept, streams, result.counts, lambda: result.trace, engine)


def execute_einsum(
    read: SpaceTime,
    settings: ExecutionSettings | None = None,
    operands: Mapping[str, AnyArray] | None = None,
    kept: LeftTensors = NOTHING_KEPT,
    held: Mapping[str, AnyArray] | None = None,
) -> EinsumExecution:
    """Execute one mapping on a grid; `operands` are random where they are not given.

    `kept`: addresses of tensors that earlier Einsums have left in the elements; `held`: the values
    of those that this Einsum reads, (rows, columns, 1, values) by tensor. Raises what `plan_of` and
    `execute_plan` raise.
    """
    settings = settings or ExecutionSettings()
    profile = settings.profile(read.grid)
    plan = plan_of(read, profile.sram_reserved_bytes, kept, profile.border_channels)
    given = {n: checked_operand(read, n, v) for n, v in (operands or {}).items()}
    data = EinsumData(read.workload_einsum, given, settings.seed, grid=read.grid)
    options = replace(settings.options(read), cycles=settings.cycles_of(plan))
    return execute_plan(plan, profile, data, options, held)


def checked_operand(read: SpaceTime, tensor: str, values: AnyArray) -> AnyArray:
    """Return given values in the number type of the elements, cut to what the Einsum reads.

    Raises InputDataError for another shape.
    """
    shape = operand_shape(read.workload_einsum, tensor)
    array = np.asarray(values)
    fits = array.ndim == len(shape) and all(
        size >= used for size, used in zip(array.shape, shape, strict=False)
    )
    if not fits:
        raise InputDataError(
            f"the values of {tensor} have another shape than {read.einsum.name} reads",
            value=array.shape,
            instead=str(shape),
        )
    return array.astype(NUMPY[read.dtype_of(tensor)])[tuple(slice(used) for used in shape)]


def spread_elements(read: SpaceTime, elements: int | None) -> bool | tuple[tuple[int, int], ...]:
    """Choose `elements` elements of the grid, evenly spaced in row-major order, for a timeline.

    Returns their (row, column) pairs, or True (all elements) for None. At most all elements are
    chosen; the first and the last one of the grid are among them from two on. 0 gives ().
    """
    if elements is None:
        return True
    total = read.rows * read.columns
    count = min(elements, total)
    places = [number * (total - 1) // max(1, count - 1) for number in range(count)]
    return tuple(divmod(place, read.columns) for place in places)
