"""Score a candidate by running it: lower it, run the program on numbers, check and count.

The result is compared with numpy.einsum within the rounding bound of float32; a wrong result is an
error, never a score. Energy is the machine's counts times the energies of the architecture.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.grid.candidate import Candidate, GridTensor
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.workload.einsum import Einsum
from tilewright.simulator.fast.fast_machine import FastResult, RunCertificate, run_fast
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.lowering.data import collect, distribute
from tilewright.simulator.lowering.lower import Lowered, lower
from tilewright.simulator.lowering.roles import OUT
from tilewright.simulator.lowering.route import input_edge
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.run_data import TimelineRequest
from tilewright.simulator.run.trace import RunResult, Trace

Floats = npt.NDArray[np.float32]
AnyArray = npt.NDArray[np.generic]
F32_ROUNDOFF = 2.0**-24


class WrongResult(TilewrightError):  # noqa: N818 - says what was found
    """Say that a simulated program computed another result than the Einsum: a fault of Tilewright.

    Raised when the output of a run differs from numpy.einsum by more than float32 rounding allows,
    or when the words counted at the border of the grid are not those that were offered. Such a run
    never gets a score.
    """


@dataclass(frozen=True, slots=True)
class SimulatedScore:
    """Hold the cost of a candidate (a mapping of an Einsum to the grid) from a simulated run.

    - `einsum`: name of the Einsum.
    - `metrics`: cycles (of the whole run), latency (seconds), energy (joules, with leakage),
      sram_bits (bits of tiles in one element), utilization (multiply-accumulates per element and
      cycle), hops (wavelets times links).
    - `counts`: numbers of actions under the key `einsum/component/tensor/action`; the actions are
      read and write (values), hop (wavelets), compute and add (operations). The tensor is None
      where the action belongs to none.
    - `energy_by`: joules under the keys of `counts`, and under `einsum/component/leak`.
    - `cycles_by`: cycles summed over all elements in the states idle, busy, wait_input and
      wait_output.
    - `mapping`: the loop nest of the candidate.
    - `memory_words`: 16-bit words of one element's memory by tensor, with all copies of its tile.
    - `error_bound_used`: greatest error of an output value, as a share (0 to 1) of its rounding
      bound.
    - `trace`: what the run recorded of elements and links.
    - `engine`: the engine that ran: `fast, with certificate`, or `reference` and the reason.
    - `checked`: whether the result was compared with numpy.einsum.
    """

    einsum: str
    metrics: Mapping[str, float]
    counts: Mapping[str, int]
    energy_by: Mapping[str, float]
    cycles_by: Mapping[str, int]
    mapping: LoopNest
    memory_words: Mapping[str, int]
    error_bound_used: float
    trace: Trace
    engine: str
    """The engine that ran: `fast, with certificate`, or `reference` and the reason."""
    checked: bool = True


@dataclass(frozen=True, slots=True)
class SimulatedCostModel:
    """Score candidates (mappings of one Einsum onto the grid) by simulating them on one machine.

    - `machine`: name of a machine profile (a table of cycles and sizes, such as `wse2-sdk-sim`), or
      the path of its file.
    - `seed`: of the random float32 operands.
    - `shown_elements`: number of elements, spread evenly over the grid, whose operations the trace
      records for a timeline; 0 records none, None records all.
    - `overrides`: fields of the profile to replace, by name.
    - `engine`: `reference` steps every cycle; `fast` computes the same cycles and values without
      stepping where it can prove them (a certificate), and leaves the other parts of the program to
      the reference engine. The score differs in the field `engine` only.
    """

    machine: str = "wse2-sdk-sim"
    seed: int = 0
    shown_elements: int | None = 0
    overrides: Mapping[str, object] = field(default_factory=dict)
    engine: str = "reference"
    """`reference`, or `fast`: the reference engine runs only the parts without a certificate."""

    def score(self, candidate: Candidate) -> SimulatedScore:
        """Lower a candidate to a program, simulate it on random operands, check and price it.

        candidate: a mapping of one Einsum onto the grid of elements. Returns its `SimulatedScore`.
        Raises InfeasibleMapping if the tiles do not fit an element's memory or are not of 32 bits
        per value, WrongResult if the output is not the Einsum's, MachineError for an unknown
        `engine` and for faults of the run, ProgramError if the profile cannot run the program.
        """
        if self.engine not in RUNNERS:
            raise MachineError(
                "no such engine", value=self.engine, instead=" or ".join(sorted(RUNNERS))
            )
        operands = random_operands(candidate.einsum, self.seed)
        profile = self.profile(candidate)
        lowered = lower(candidate, profile.sram_reserved_bytes)
        shown = spread_elements(candidate, self.shown_elements)
        run = RUNNERS[self.engine](lowered, profile, operands, shown)
        result = run.result
        streams = {name: stream.values for name, stream in result.edges.items()}
        output = output_of(candidate, result.memory, streams)
        bound_used = check_result(candidate.einsum, operands, output)
        return _score(lowered, profile, run, bound_used)

    def profile(self, candidate: Candidate) -> Profile:
        """Return the machine's profile with the candidate's memory size and with `overrides`.

        The profile is the table of the machine's cycles and sizes. Its `sram_bytes` (memory of one
        element, bytes) becomes that of `candidate.grid.memory`, unless `overrides` names it. Raises
        an error of the project if the profile is unknown or an override is no field of it.
        """
        size = int(candidate.grid.memory.size) // 8
        return load_profile(self.machine).with_values({"sram_bytes": size, **self.overrides})


def random_operands(einsum: Einsum, seed: int) -> dict[str, Floats]:
    """Return standard normal float32 values for every input tensor of an Einsum, by name.

    The shape of an array is that of the tensor's ranks. The same seed and name give the same
    values.
    """
    operands = {}
    for access in einsum.inputs:
        stream = np.random.default_rng([seed, zlib.crc32(access.tensor.encode())])
        operands[access.tensor] = stream.standard_normal(
            [form.extent(einsum.bounds) for _, form in access.projection], dtype=np.float32
        )
    return operands


def execute_by_fast(
    lowered: Lowered,
    profile: Profile,
    operands: Mapping[str, Floats],
    timeline: TimelineRequest = False,
) -> FastResult:
    """Run a lowered candidate by the fast engine, which steps only what it cannot prove.

    - lowered: the program of the candidate, from `lower`.
    - profile: cycles and sizes of the machine.
    - operands: the full input tensors by name, float32; they are split over the elements here.
    - timeline: False records no operations, True those of all elements, a list of (row, column)
      those of these elements.

    Returns the result of the run (cycles, memories, edge streams, counts, trace) with the
    certificate, which says whether the fast engine proved all of it. Raises the errors of a run by
    the reference engine: MachineError, ProgramError, DeadlockError.
    """
    memory, edges = run_inputs(lowered.candidate, operands)
    return run_fast(lowered.program, profile, memory, edges, timeline)


def execute_by_reference(
    lowered: Lowered,
    profile: Profile,
    operands: Mapping[str, Floats],
    timeline: TimelineRequest = False,
) -> FastResult:
    """Run a lowered candidate by the reference engine, which steps every cycle.

    Arguments, result and errors are those of `execute_by_fast`: the program from `lower`, the
    machine's profile, the full input tensors by name, and the elements whose operations the
    timeline records (False: none, True: all). The certificate in the result says that none was
    granted.
    """
    memory, edges = run_inputs(lowered.candidate, operands)
    machine = Machine(lowered.program, profile)
    result = machine.run(memory=memory, edges=edges, timeline=timeline)
    return FastResult(result, RunCertificate(False, "asked for", 0, 0, 0))


Runner = Callable[[Lowered, Profile, Mapping[str, Floats], TimelineRequest], FastResult]
RUNNERS: Final[dict[str, Runner]] = {
    "fast": execute_by_fast,
    "reference": execute_by_reference,
}


def run_inputs(
    candidate: Candidate, operands: Mapping[str, Floats]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Split input tensors into what lies in memories before a run and what streams in.

    operands: full float32 tensors by name. Returns a pair: arrays (rows, columns, 1, values) by
    tensor for the resident tensors (whose whole share an element holds from the start), and arrays
    (positions, 32-bit words) by edge port for all other inputs.
    """
    return resident_shares(candidate, operands), edge_streams(candidate, operands)


def spread_elements(
    candidate: Candidate, elements: int | None
) -> bool | tuple[tuple[int, int], ...]:
    """Choose `elements` elements of the grid, evenly spaced in row-major order, for a timeline.

    Returns their (row, column) pairs, or True (all elements) for None. At most all elements are
    chosen; the first and the last one of the grid are among them from two on. 0 gives ().
    """
    if elements is None:
        return True
    grid = candidate.grid
    total = grid.rows * grid.columns
    count = min(elements, total)
    places = [number * (total - 1) // max(1, count - 1) for number in range(count)]
    return tuple(divmod(place, grid.columns) for place in places)


def resident_shares(candidate: Candidate, operands: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return what each element's memory holds before the run, by resident input tensor.

    A resident tensor is one whose share is in memory from the start instead of streaming in. An
    array is (rows, columns, 1, values of the share), float32. operands: the full tensors by name.
    """
    return {
        tensor.name: distribute(candidate, tensor, operands[tensor.name])
        for tensor in candidate.tensors
        if tensor.resident and not tensor.access.output
    }


def edge_streams(candidate: Candidate, operands: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the words that enter the grid at its border, by name of the edge port.

    One port for each input tensor that is not resident (not in memory before the run). An array is
    (positions along the border, values), float32; a position's values are those of the first tile,
    then of the next one, in the order in which they enter. operands: the full tensors by name.
    """
    return {
        input_edge(tensor.name): _stream(
            distribute(candidate, tensor, operands[tensor.name]), tensor
        )
        for tensor in candidate.tensors
        if not tensor.resident and not tensor.access.output
    }


def output_of(
    candidate: Candidate, memory: Mapping[str, AnyArray], edges: Mapping[str, AnyArray]
) -> Floats:
    """Assemble the output tensor of a run from the elements' memories or from the words that left.

    memory: (rows, columns, tiles, values) by tensor, read if the output is resident (stays in
    memory); edges: (positions, words) by edge port, read from the port `out` if it leaves the grid.
    Returns the float32 tensor in the shape of its ranks.
    """
    output, grid = candidate.output, candidate.grid
    if output.resident:
        return collect(candidate, output, np.asarray(memory[output.name], dtype=np.float32))
    values = np.asarray(edges[OUT], dtype=np.float32)
    lines = values.reshape(len(values), output.tiles, output.tile_elements)
    shares = np.empty((grid.rows, grid.columns, *lines.shape[1:]), dtype=np.float32)
    shares[:] = lines[None, :] if "X" in output.split else lines[:, None]
    return collect(candidate, output, shares)


def check_result(einsum: Einsum, operands: Mapping[str, Floats], output: Floats) -> float:
    """Compare an output with numpy.einsum; return its error as a share of the rounding bound.

    Any order of n additions of products errs by at most gamma_n * sum |a| |b| with gamma_n = n u /
    (1 - n u), u = 2^-24 (Higham, Accuracy and Stability, §3.1); here n is the number of products
    per output value plus 1, and the smallest normal float32 is added. operands and output: full
    float32 tensors; the comparison is in float64. Returns a number from 0 to 1. Raises WrongResult
    if an error is above its bound or not a number.
    """
    summed = [v for v in einsum.bounds if v not in einsum.outputs[0].rank_variables]
    terms = int(np.prod([einsum.bounds[name] for name in summed])) + 1
    exact = _reference(einsum, operands)
    scale = _reference(einsum, {name: np.abs(values) for name, values in operands.items()})
    gamma = terms * F32_ROUNDOFF / (1 - terms * F32_ROUNDOFF)
    error = np.abs(output.astype(np.float64) - exact)
    allowed = gamma * scale + np.finfo(np.float32).tiny
    worst = float(np.max(error / allowed))
    if not worst <= 1:
        place = np.unravel_index(int(np.nanargmax(error / allowed)), error.shape)
        raise WrongResult(
            f"the run of {einsum.name} gives {output[place]!r} at {tuple(map(int, place))}, "
            f"numpy.einsum gives {exact[place]!r}: please report this"
        )
    return worst


def _reference(einsum: Einsum, operands: Mapping[str, Floats]) -> npt.NDArray[np.float64]:
    letters = {name: chr(ord("a") + number) for number, name in enumerate(einsum.bounds)}
    spell = {
        access.tensor: "".join(letters[form.terms[0][0]] for _, form in access.projection)
        for access in einsum.accesses
    }
    inputs = [access.tensor for access in einsum.inputs]
    formula = ",".join(spell[name] for name in inputs) + "->" + spell[einsum.outputs[0].tensor]
    return np.asarray(np.einsum(formula, *(operands[n].astype(np.float64) for n in inputs)))


def _stream(shares: Floats, tensor: GridTensor) -> Floats:
    """Return the words at each position of the edge, tile after tile."""
    if "Y" in tensor.split:
        lines = shares[:, 0]
    elif "X" in tensor.split:
        lines = shares[0]
    else:
        lines = shares[:1, 0]
    return np.ascontiguousarray(lines.reshape(len(lines), -1))


def _score(
    lowered: Lowered, profile: Profile, run: FastResult, bound_used: float
) -> SimulatedScore:
    candidate, result = lowered.candidate, run.result
    counts = count_actions(lowered, result)
    latency = result.cycles / profile.clock_hz
    energy_by = {**action_energies(candidate, counts), **leak_energies(candidate, latency)}
    elements = candidate.grid.columns * candidate.grid.rows
    states = result.trace.element_cycles.sum(axis=(0, 1))
    names = ("idle", "busy", "wait_input", "wait_output")
    metrics = {
        "cycles": float(result.cycles),
        "latency": latency,
        "energy": float(sum(energy_by.values())),
        "sram_bits": float(lowered.memory.used * 16),
        "utilization": candidate.einsum.operations / (elements * result.cycles),
        "hops": float(result.counts.wavelet_hops),
    }
    return SimulatedScore(
        einsum=candidate.einsum.name,
        metrics=metrics,
        counts=counts,
        energy_by=energy_by,
        cycles_by={name: int(value) for name, value in zip(names, states, strict=True)},
        mapping=candidate.mapping,
        memory_words={b.name: b.size * b.copies for b in lowered.memory.buffers},
        error_bound_used=bound_used,
        trace=result.trace,
        engine=run.engine,
    )


def count_actions(lowered: Lowered, result: RunResult) -> dict[str, int]:
    """Return a run's counts of actions under the keys of the analytical model, without the zeros.

    A key is `einsum/component/tensor/action`: read and write are values of the elements' memory and
    of the host beyond the border, hop is wavelets times links, compute is multiplications with or
    without an addition, add is additions alone. The same keys come from `predict`
    (mapper.grid_counts), so that both can be compared. Raises WrongResult if the words that entered
    are not those offered.
    """
    candidate, grid, counters = lowered.candidate, lowered.candidate.grid, result.counts
    name, memory = candidate.einsum.name, grid.memory.name
    counts: dict[str, int] = {}
    for tensor, number in counters.memory_reads.items():
        counts[f"{name}/{memory}/{tensor}/read"] = number
    for tensor, number in counters.memory_writes.items():
        counts[f"{name}/{memory}/{tensor}/write"] = number
    for tensor, number in _edge_words(lowered, result).items():
        action = "write" if tensor == candidate.output.name else "read"
        counts[f"{name}/{grid.host.name}/{tensor}/{action}"] = number
    fabric = grid.fabric.name if grid.fabric is not None else "fabric"
    counts[f"{name}/{fabric}/None/hop"] = counters.wavelet_hops
    counts[f"{name}/{grid.compute.name}/None/compute"] = counters.macs + counters.multiplies
    counts[f"{name}/{grid.compute.name}/None/add"] = counters.adds
    return {key: number for key, number in sorted(counts.items()) if number}


def _edge_words(lowered: Lowered, result: RunResult) -> dict[str, int]:
    """Words over the edges by tensor; the machine's own counters must agree with the ports."""
    words = {
        port.name.removeprefix("edge_"): port.positions * port.count
        for port in lowered.program.edge_inputs
    }
    if sum(words.values()) != result.counts.edge_in_words:
        raise WrongResult(
            f"{result.counts.edge_in_words} words entered the grid, "
            f"{sum(words.values())} were offered: please report this"
        )
    if OUT in result.edges:
        words[lowered.candidate.output.name] = result.counts.edge_out_words
    return words


def action_energies(candidate: Candidate, counts: Mapping[str, int]) -> dict[str, float]:
    """Return the energy (J) of counted actions, by the keys of the counts (`count_actions`).

    A read or write of a value costs the component's action energy divided by its values per action;
    an addition of an element costs a compute action; a hop carries one 32-bit wavelet over one
    link, and costs nothing if the architecture has no fabric.
    """
    energy = {}
    for key, number in counts.items():
        _, component, tensor, action = key.split("/")
        if action == "hop":
            fabric = candidate.grid.fabric
            unit_energy = fabric.action("hop").energy if fabric is not None else 0.0
        elif tensor == "None":
            unit_energy = candidate.grid.compute.action("compute").energy
        else:
            priced = candidate.flat.component(component).action(action)
            unit_energy = priced.energy / float(priced.values_per_action[tensor])
        energy[key] = number * unit_energy
    return energy


def leak_energies(candidate: Candidate, latency: float) -> dict[str, float]:
    """Return the leakage energy (J) of every component that leaks, by `einsum/component/leak`.

    It is leak power (W) * number of instances * latency (s). All instances leak, used or not; their
    number is the component's own fanout times the fanouts of those above it.
    """
    components = (*candidate.flat.components, *candidate.flat.beside)
    return {
        f"{candidate.einsum.name}/{component.name}/leak": component.leak_power
        * component.parent_fanout
        * component.own_fanout
        * latency
        for component in components
        if component.leak_power
    }
