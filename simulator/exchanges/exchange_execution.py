"""An exchange between elements executed on a grid: run on numbers, compared, counted and priced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.exchanges.halo import HaloExchange, halo_exchange
from tilewright.mapper.grid.exchanges.reshard import Reshard, reshard
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.exchanges.buffers import HELD, NEEDED, ExchangeAddresses
from tilewright.simulator.exchanges.exchange_bound import program_bound
from tilewright.simulator.exchanges.halo_program import halo_program
from tilewright.simulator.exchanges.reshard_program import ReshardPhase, limits_of, reshard_phases
from tilewright.simulator.execution.action_counts import action_energies, leak_energies, total_hops
from tilewright.simulator.execution.drawn_operands import AnyArray, WrongResult
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.lowering.addresses import Taken, free_word
from tilewright.simulator.lowering.passes.shared_colors import shared_colors
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.run.machine import Machine


@dataclass(frozen=True, slots=True)
class ExchangeExecution:
    """What the exchange of a tensor between elements before an Einsum gave.

    `exchange`: what moved; `einsum`: the Einsum that needs it. `memory`: (rows, columns, 1, values)
    the parts that the elements need, at the end. `cycles`, `latency` (s): of its programs, one
    after the other; `lower_bound_cycles`: no run of them goes below. `counts`: numbers of actions
    by `name/component/tensor/action`; `predicted`: the same without an execution. `energy_by`:
    joules under the keys of the counts, and `name/component/leak`.
    """

    exchange: HaloExchange | Reshard
    einsum: str
    memory: AnyArray
    cycles: int
    lower_bound_cycles: int
    latency: float
    counts: Mapping[str, int]
    predicted: Mapping[str, int]
    energy_by: Mapping[str, float]

    @property
    def name(self) -> str:
        """Words for the exchange: `A to Z`, the tensor and the Einsum that needs it."""
        return _name(self.exchange, self.einsum)

    @property
    def kind(self) -> str:
        """A word for what moved: `halos` or `reshard`."""
        return "halos" if isinstance(self.exchange, HaloExchange) else "reshard"

    @property
    def energy(self) -> float:
        """Energy in J, with leakage."""
        return float(sum(self.energy_by.values()))

    @property
    def hops(self) -> int:
        """Number of wavelets times the links that each one crosses."""
        return total_hops(self.counts)


def exchanges_of(
    tensor: str, held: Distribution, needed: Distribution
) -> Iterator[HaloExchange | Reshard]:
    """Yield the exchanges that bring each element the part that it needs, the best one first.

    held, needed: which part of the tensor each element has, and needs. If all elements need the
    same halo, an exchange of halos comes first: neighbours pass it on in fewer words than flows
    would have. A reshard follows.
    """
    for exchange_of in (halo_exchange, reshard):
        exchange = exchange_of(tensor, held, needed)
        if exchange is not None:
            yield exchange


def execute_exchange(
    exchange: HaloExchange | Reshard,
    read: SpaceTime,
    profile: Profile,
    addresses: ExchangeAddresses,
    held: AnyArray,
) -> ExchangeExecution | None:
    """Run an exchange on the machine, check the parts, count and price it.

    `read`: the mapping of the Einsum that needs the parts; `held`: (rows, columns, 1, values) what
    elements have. None if the machine has no program for it. Raises WrongResult if the parts or the
    counts of the run are wrong.
    """
    programs = _programs(exchange, read.dtype_of(exchange.tensor), profile, addresses)
    if programs is None:
        return None
    parts = np.asarray(held).reshape(*exchange.held.has.shape, *exchange.held.extents)
    memory = np.zeros((exchange.rows, exchange.columns, *exchange.held.extents), parts.dtype)
    memory[: parts.shape[0], : parts.shape[1]] = parts
    run = _run(programs, profile, exchange, memory)
    if not np.array_equal(run.parts, parts_of(exchange, parts)):
        raise WrongResult(
            f"parts of {exchange.tensor} for {read.einsum.name} are wrong: please report this"
        )
    name, predicted = _name(exchange, read.einsum.name), predicted_exchange(exchange, read)
    counts = _counts(exchange, read, run.reads, run.writes, run.hops)
    if counts != predicted:
        raise WrongResult(
            f"{name}: the run counts {counts}, the model {predicted}: please report this"
        )
    instances = read.einsum.n_instances
    latency = run.cycles * instances / profile.clock_hz
    return ExchangeExecution(
        exchange=exchange,
        einsum=read.einsum.name,
        memory=run.parts.reshape(*exchange.needed.has.shape, 1, -1),
        cycles=run.cycles * instances,
        lower_bound_cycles=_bound(programs, read, profile),
        latency=latency,
        counts=counts,
        predicted=predicted,
        energy_by={**action_energies(read, counts), **leak_energies(read, latency, name)},
    )


def _bound(programs: tuple[ReshardPhase, ...], read: SpaceTime, profile: Profile) -> int:
    """Return a number of cycles that no run of the programs of an exchange goes below."""
    each = sum(program_bound(p.program, profile, p.flows) for p in programs)
    return read.einsum.n_instances * each


@dataclass(frozen=True, slots=True)
class ExchangePrice:
    """What an exchange costs at least, without a run.

    `name`: the tensor and the Einsum that needs it. `memory`: as of `ExchangeExecution`, but
    without values. `lower_bound_cycles`: no run goes below. `counts`, `energy_by`: as of a run that
    takes so many cycles.
    """

    name: str
    memory: AnyArray
    lower_bound_cycles: int
    counts: Mapping[str, int]
    energy_by: Mapping[str, float]


def price_exchange(
    exchange: HaloExchange | Reshard,
    read: SpaceTime,
    profile: Profile,
    addresses: ExchangeAddresses,
    held: AnyArray,  # noqa: ARG001 - as execute_exchange has it
) -> ExchangePrice | None:
    """Return what an exchange costs at least; arguments as of `execute_exchange`.

    None if the machine has no program for it.
    """
    programs = _programs(exchange, read.dtype_of(exchange.tensor), profile, addresses)
    if programs is None:
        return None
    name, counts = _name(exchange, read.einsum.name), predicted_exchange(exchange, read)
    bound = _bound(programs, read, profile)
    leaks = leak_energies(read, bound / profile.clock_hz, name)
    return ExchangePrice(
        name=name,
        memory=np.zeros((*exchange.needed.has.shape, 1, 0)),
        lower_bound_cycles=bound,
        counts=counts,
        energy_by={**action_energies(read, counts), **leaks},
    )


def _programs(
    exchange: HaloExchange | Reshard, dtype: str, profile: Profile, addresses: ExchangeAddresses
) -> tuple[ReshardPhase, ...] | None:
    if isinstance(exchange, Reshard):
        return reshard_phases(exchange, dtype, addresses, limits_of(profile))
    program = halo_program(exchange, dtype, addresses)
    try:
        return None if program is None else (ReshardPhase(shared_colors(program, profile), ()),)
    except ProgramError:  # too few colors: flows of a reshard take turns
        return None


@dataclass(frozen=True, slots=True)
class _ProgramRun:
    """What the programs of an exchange counted, and the parts that they have made.

    `parts`: (rows, columns, extents) what the elements need. `reads`, `writes`: number of values in
    memories; `hops`: words times links.
    """

    parts: AnyArray
    cycles: int
    reads: int
    writes: int
    hops: int


def _run(
    programs: tuple[ReshardPhase, ...],
    profile: Profile,
    exchange: HaloExchange | Reshard,
    held: AnyArray,
) -> _ProgramRun:
    """Run the programs of an exchange one after the other on the same memories.

    held: (rows, columns, extents) what the elements have before.
    """
    grid = exchange.rows, exchange.columns
    values = held.reshape(*grid, *(exchange.held.extents or (1,)))  # 1: a scalar
    needed = np.zeros((*grid, *(exchange.needed.extents or (1,))), held.dtype)
    cycles = reads = writes = hops = 0
    for phase in programs:
        result = Machine(phase.program, profile).run(memory={HELD: values, NEEDED: needed})
        needed = np.asarray(result.memory[NEEDED]).reshape(needed.shape)
        cycles += result.cycles
        reads += sum(result.counts.memory_reads.values())
        writes += sum(result.counts.memory_writes.values())
        hops += result.counts.wavelet_hops
    rows, columns = exchange.needed.has.shape
    parts = needed.reshape(*grid, *exchange.needed.extents)[:rows, :columns]
    return _ProgramRun(parts, cycles, reads, writes, hops)


class ExchangeTime(NamedTuple):
    """What an exchange takes alone: seconds, and joules with leakage."""

    latency: float
    energy: float


def time_exchange(
    exchange: HaloExchange | Reshard, read: SpaceTime, profile: Profile, offset: int
) -> ExchangeTime | None:
    """Run an exchange without values, alone in the memories, to learn its cycles.

    `offset`: address of both buffers modulo 8, which decides the cycles wherever they are. Time and
    energy are those of `execute_exchange`. None if the machine has no program for it.
    """
    dtype = read.dtype_of(exchange.tensor)
    words, needed = (part.values * DTYPES[dtype] for part in (exchange.held, exchange.needed))
    behind = free_word(offset, needed, offset, [Taken(offset, offset + words)])
    programs = _programs(exchange, dtype, profile, ExchangeAddresses(offset, behind))
    if programs is None:
        return None
    cycles = sum(Machine(phase.program, profile).cycles() for phase in programs)
    latency = cycles * read.einsum.n_instances / profile.clock_hz
    counts, name = predicted_exchange(exchange, read), _name(exchange, read.einsum.name)
    joules = {**action_energies(read, counts), **leak_energies(read, latency, name)}
    return ExchangeTime(latency, float(sum(joules.values())))


def predicted_exchange(exchange: HaloExchange | Reshard, read: SpaceTime) -> dict[str, int]:
    """Return the numbers of actions of an exchange, by key, without an execution.

    They follow from the parts that elements have and need (theory/grid.md §9, §10).
    """
    hops = exchange.hops(read.dtype_of(exchange.tensor))
    return _counts(exchange, read, exchange.reads, exchange.writes, hops)


def _counts(
    exchange: HaloExchange | Reshard, read: SpaceTime, reads: int, writes: int, hops: int
) -> dict[str, int]:
    name, memory = _name(exchange, read.einsum.name), read.grid.memory.name
    fabric = read.grid.fabric.name if read.grid.fabric is not None else "fabric"
    counts = {
        f"{name}/{fabric}/None/hop": hops,
        f"{name}/{memory}/{exchange.tensor}/read": reads,
        f"{name}/{memory}/{exchange.tensor}/write": writes,
    }
    instances = read.einsum.n_instances
    return {key: number * instances for key, number in sorted(counts.items()) if number}


def _name(exchange: HaloExchange | Reshard, einsum: str) -> str:
    return f"{exchange.tensor} to {einsum}"


def parts_of(exchange: HaloExchange | Reshard, parts: AnyArray) -> AnyArray:
    """Return the parts that elements need, (rows, columns, extents), cut from the whole tensor.

    `parts`: (rows, columns, extents) what the elements hold; zeros outside of the tensor.
    """
    held, needed = exchange.held, exchange.needed
    ends = [place.first + np.array(place.extents, dtype=np.int64) for place in (held, needed)]
    start = np.minimum(held.first.min(axis=(0, 1)), needed.first.min(axis=(0, 1)))
    size = np.maximum(*(end.max(axis=(0, 1)) for end in ends)) - start
    whole = np.zeros(size, dtype=parts.dtype)
    result = np.zeros((*needed.has.shape, *needed.extents), dtype=parts.dtype)
    for place in map(tuple, np.argwhere(held.has).tolist()):
        whole[_slices(held.first[place] - start, held.extents)] = parts[place]
    for rank, positions in enumerate(held.shape or ()):
        beyond = [slice(None)] * whole.ndim
        beyond[rank] = slice(int(positions - start[rank]), None)
        whole[tuple(beyond)] = 0
    for place in np.ndindex(*needed.has.shape):
        result[place] = whole[_slices(needed.first[place] - start, needed.extents)]
    return result


def _slices(first: AnyArray, extents: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(f, f + e) for f, e in zip(first.tolist(), extents, strict=True))
