"""An exchange of halos executed on a grid: run on numbers, compared, counted and priced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.mapper.grid.halo import HaloExchange
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.execution.action_counts import action_energies, leak_energies
from tilewright.simulator.execution.operands import NUMPY, AnyArray, WrongResult
from tilewright.simulator.isa.dsd import DTYPES
from tilewright.simulator.lowering.addresses import Taken, free_word
from tilewright.simulator.lowering.halo_program import HELD, NEEDED, halo_program
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.run.machine import Machine


@dataclass(frozen=True, slots=True)
class HaloAddresses:
    """First 16-bit words of the part that elements hold and of the box that they need."""

    held: int
    needed: int


@dataclass(frozen=True, slots=True)
class HaloExecution:
    """What the exchange of a tensor's halos before an Einsum gave.

    `exchange`: what moved; `einsum`: the Einsum that needs it. `memory`: (rows, columns, 1, values)
    the boxes of the elements at the end. `cycles`, `latency` (s): of the run. `counts`: numbers of
    actions by `name/component/tensor/action`; `predicted`: the same without an execution.
    `energy_by`: joules under the keys of the counts, and `name/component/leak`.
    """

    exchange: HaloExchange
    einsum: str
    memory: AnyArray
    cycles: int
    latency: float
    counts: Mapping[str, int]
    predicted: Mapping[str, int]
    energy_by: Mapping[str, float]

    @property
    def name(self) -> str:
        """Words for the exchange: `A to Z`, the tensor and the Einsum that needs it."""
        return _name(self.exchange, self.einsum)

    @property
    def energy(self) -> float:
        """Energy in J, with leakage."""
        return float(sum(self.energy_by.values()))

    @property
    def hops(self) -> int:
        """Wavelets times links."""
        return self.exchange.passed


def execute_halo(
    exchange: HaloExchange,
    read: SpaceTime,
    profile: Profile,
    addresses: HaloAddresses,
    held: AnyArray,
) -> HaloExecution | None:
    """Run an exchange of halos on the machine.

    `read`: the Einsum that needs the boxes; `held`: (rows, columns, 1, values) the parts of the
    elements. None if the machine has no program for it. Raises WrongResult if the boxes or the
    counts of the run are wrong.
    """
    program = halo_program(exchange, read.dtype, addresses.held, addresses.needed)
    if program is None:
        return None
    shape = exchange.rows, exchange.columns
    parts = np.asarray(held).reshape(*shape, *exchange.held.extents)
    result = Machine(program, profile).run(memory={HELD: parts})
    boxes = np.asarray(result.memory[NEEDED]).reshape(*shape, *exchange.needed.extents)
    if not np.array_equal(boxes, boxes_of(exchange, parts)):
        raise WrongResult(f"halos of {exchange.tensor} are wrong: please report this")
    name = _name(exchange, read.einsum.name)
    predicted = predicted_halo(exchange, read)
    counted = result.counts
    counts = _counts(
        exchange,
        read,
        sum(counted.memory_reads.values()),
        sum(counted.memory_writes.values()),
        counted.wavelet_hops,
    )
    if counts != predicted:
        raise WrongResult(
            f"{name}: the run counts {counts}, the model {predicted}: please report this"
        )
    latency = result.cycles / profile.clock_hz
    leaks = leak_energies(read, latency)
    return HaloExecution(
        exchange=exchange,
        einsum=read.einsum.name,
        memory=boxes.reshape(*shape, 1, -1),
        cycles=result.cycles,
        latency=latency,
        counts=counts,
        predicted=predicted,
        energy_by={
            **action_energies(read, counts),
            **{f"{name}/{key.split('/', 1)[1]}": energy for key, energy in leaks.items()},
        },
    )


def try_halo(
    exchange: HaloExchange, read: SpaceTime, profile: Profile, offset: int
) -> HaloExecution | None:
    """Run an exchange of halos on any values, alone in the memories; None without a program.

    `offset`: address of both boxes modulo 8, which decides the cycles wherever they lie.
    """
    words = exchange.held.values * DTYPES[read.dtype]
    behind = free_word(offset, exchange.needed.values * DTYPES[read.dtype], offset,
                       [Taken(offset, offset + words)])  # fmt: skip
    shape = (exchange.rows, exchange.columns, 1, exchange.held.values)
    values = np.arange(exchange.rows * exchange.columns * exchange.held.values) % 1024 + 1
    parts = values.reshape(shape).astype(NUMPY[read.dtype])
    return execute_halo(exchange, read, profile, HaloAddresses(offset, behind), parts)


def predicted_halo(exchange: HaloExchange, read: SpaceTime) -> dict[str, int]:
    """Return the counts of an exchange without an execution (theory/grid.md §9)."""
    return _counts(exchange, read, exchange.reads, exchange.writes, exchange.passed)


def _counts(
    exchange: HaloExchange, read: SpaceTime, reads: int, writes: int, hops: int
) -> dict[str, int]:
    name, memory = _name(exchange, read.einsum.name), read.grid.memory.name
    fabric = read.grid.fabric.name if read.grid.fabric is not None else "fabric"
    counts = {
        f"{name}/{fabric}/None/hop": hops,
        f"{name}/{memory}/{exchange.tensor}/read": reads,
        f"{name}/{memory}/{exchange.tensor}/write": writes,
    }
    return {key: number for key, number in sorted(counts.items()) if number}


def _name(exchange: HaloExchange, einsum: str) -> str:
    return f"{exchange.tensor} to {einsum}"


def boxes_of(exchange: HaloExchange, parts: AnyArray) -> AnyArray:
    """Return the boxes that elements need, (rows, columns, extents), cut from the whole tensor.

    `parts`: (rows, columns, extents) what the elements hold; zeros outside of the tensor.
    """
    held, needed = exchange.held, exchange.needed
    start = needed.first.min(axis=(0, 1))
    size = (needed.first + np.array(needed.extents)).max(axis=(0, 1)) - start
    whole = np.zeros(size, dtype=parts.dtype)
    boxes = np.zeros((*needed.has.shape, *needed.extents), dtype=parts.dtype)
    for place in np.ndindex(*held.has.shape):
        whole[_slices(held.first[place] - start, held.extents)] = parts[place]
    for place in np.ndindex(*needed.has.shape):
        boxes[place] = whole[_slices(needed.first[place] - start, needed.extents)]
    return boxes


def _slices(first: AnyArray, extents: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(f, f + e) for f, e in zip(first.tolist(), extents, strict=True))
