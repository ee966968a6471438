"""Tensors that stay in the elements' memories from the Einsum that computes them to their readers.

Their addresses hold over their lifetimes, and their values are carried from run to run as the
elements left them (theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tilewright.mapper.grid.distribution import Distribution, lies_elsewhere, needed, produced
from tilewright.mapper.grid.exchanges.halo import HaloExchange
from tilewright.mapper.grid.exchanges.reshard import Reshard
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.mapping.mapping import Mapping, Storage
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.exchanges.buffers import ExchangeAddresses
from tilewright.simulator.exchanges.exchange_execution import exchanges_of
from tilewright.simulator.execution.drawn_operands import AnyArray
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.persistent_places import PersistentPlaces
from tilewright.simulator.lowering.addresses import (
    APART_WORDS,
    PERIOD_WORDS,
    LeftTensors,
    Taken,
    check_size,
    free_word,
    words_of,
)
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.profiles.profile import Profile


class Moved(Protocol):
    """An exchange between elements that has run, or that is only priced."""

    @property
    def memory(self) -> AnyArray:
        """The parts that the elements need, (rows, columns, 1, values), at its end."""


M = TypeVar("M", bound=Moved)
MoveTensor = Callable[
    [HaloExchange | Reshard, SpaceTime, Profile, ExchangeAddresses, AnyArray], M | None
]
"""A function that runs an exchange for an Einsum, given by its mapping, or prices it.

The array is what the elements have. It returns None if the machine has no program for it.
"""


def intermediates(workload: Workload) -> dict[str, int]:
    """Return the tensors that one Einsum computes and a later one reads, with their last reader.

    By tensor, the number (from 0) of the last Einsum of the workload that reads it.
    """
    written: set[str] = set()
    last: dict[str, int] = {}
    for number, einsum in enumerate(workload.einsums):
        for access in einsum.inputs:
            if access.tensor in written:
                last[access.tensor] = number
        written.update(access.tensor for access in einsum.outputs)
    return last


def bank_offsets(workload: Workload) -> dict[str, int]:
    """Return the address modulo 8, 0 or 4, at which each intermediate lies if it stays.

    Addresses count 16-bit words, and modulo 8 they are memory banks. The result of an Einsum has
    another number than the first intermediate that the Einsum reads, so that no access of both
    meets on a bank.
    """
    offsets: dict[str, int] = {}
    exchanged = intermediates(workload)
    for einsum in workload.einsums:
        read = next((a.tensor for a in einsum.inputs if a.tensor in offsets), None)
        base = offsets[read] if read is not None else 0
        for access in einsum.outputs:
            if access.tensor in exchanged:
                offsets[access.tensor] = (base + APART_WORDS) % PERIOD_WORDS
    return offsets


def staying_tensors(mappings: Dict[str, Mapping], workload: Workload, host: str) -> frozenset[str]:
    """Return the intermediates that no mapping stores in the memory outside the grid.

    `mappings`: of each Einsum. Raises InfeasibleMapping if only some of the Einsums that use an
    intermediate store it outside, or if one stays that may not (`bound_to_host`).
    """
    staying = set()
    for tensor in intermediates(workload):
        users = [einsum.name for einsum in workload.einsums if tensor in einsum.tensors]
        outside = [name for name in users if tensor in _outside(mappings[name], host)]
        if not outside:
            _check_instances(workload, tensor, users, host)
            staying.add(tensor)
        elif len(outside) < len(users):
            inside = next(name for name in users if name not in outside)
            raise InfeasibleMapping(
                f"{tensor} is in {host} for Einsum {outside[0]}, but not for {inside}",
                instead=f"a Storage of {tensor} in {host} for all of {', '.join(users)}, or none",
            )
    return frozenset(staying)


def _check_instances(workload: Workload, tensor: str, users: list[str], host: str) -> None:
    """Raise InfeasibleMapping if a tensor stays that may not. users: Einsums that use it."""
    if tensor in bound_to_host(workload):
        raise InfeasibleMapping(
            f"{tensor} stays in the elements between Einsums of different n_instances",
            value=", ".join(f"{name}: {workload.einsum(name).n_instances}" for name in users),
            instead=f"a Storage of {tensor} in {host} for all of {', '.join(users)}",
        )


def bound_to_host(workload: Workload) -> frozenset[str]:
    """Return the intermediates that may not stay in the elements, as they have no one run there.

    Their Einsums have different `n_instances`, and the file does not say which run of the one
    feeds which run of the other (docs/conventions.md).
    """
    instances: dict[str, set[int]] = {}
    for einsum in workload.einsums:
        for tensor in einsum.tensors:
            instances.setdefault(tensor, set()).add(einsum.n_instances)
    return frozenset(t for t in intermediates(workload) if len(instances[t]) > 1)


def _outside(mapping: Mapping, host: str) -> set[str]:
    return {
        name
        for node in mapping.nodes
        if isinstance(node, Storage) and node.component == host
        for name in node.tensors
    }


@dataclass(frozen=True, slots=True)
class _Kept:
    """One tensor in the elements' memories: its distribution, its address, and its values."""

    where: Distribution
    first_word: int
    words: int
    values: AnyArray

    @property
    def taken(self) -> Taken:
        """The words that it takes."""
        return Taken(self.first_word, self.first_word + self.words)


@dataclass(frozen=True, slots=True)
class ReadyMemories(Generic[M]):
    """What the elements have when an Einsum begins.

    `kept`: addresses of the tensors that earlier Einsums left; `held`: the values of those that its
    mapping reads, (rows, columns, 1, values) by tensor; `exchanges`: programs that ran before it to
    move them.
    """

    kept: LeftTensors
    held: Dict[str, AnyArray]
    exchanges: tuple[M, ...]


@dataclass(slots=True)
class Exchange(Generic[M]):
    """Keep the tensors that stay in the elements while the Einsums of a workload run in turn.

    Where an Einsum needs a tensor in other elements than hold it, a program of the machine moves a
    copy. `workload`: the Einsums; `staying`: names of the tensors; `settings`: of the machine that
    runs the moves; `persistent`: places of weights that are in the elements all the time; `move`:
    runs an exchange; `tensors`: those that were left so far, with their place and values.
    """

    workload: Workload
    staying: frozenset[str]
    settings: ExecutionSettings
    persistent: PersistentPlaces
    move: MoveTensor[M]
    tensors: dict[str, _Kept] = field(default_factory=dict)

    def ready_for(self, *reads: SpaceTime) -> ReadyMemories[M]:
        """Return what the elements have when some Einsums begin, after the exchanges for them.

        The exchanges run now. reads: the mapping of an Einsum on the grid, or of all Einsums of a
        pipeline. Raises InfeasibleMapping if a tensor is in other elements than the Einsum needs,
        and no exchange changes that.
        """
        first_word = self.persistent.first_words(reads)
        held: dict[str, AnyArray] = {}
        exchanges: list[M] = []
        taken = [*self.persistent.taken, *(kept.taken for kept in self.tensors.values())]
        inputs = [(read, tensor) for read in reads for tensor in read.inputs]
        for read, tensor in inputs:
            kept = self.tensors.get(tensor.name)
            if kept is None:
                continue
            if kept.where.serves(needed(read, tensor)):
                first_word[tensor.name] = kept.first_word
                held[tensor.name] = kept.values[: read.rows, : read.columns]
            else:
                done, word = self._exchange(read, tensor, taken)
                first_word[tensor.name], held[tensor.name] = word, done.memory
                taken.append(Taken(word, word + words_of(tensor, read)))
                exchanges.append(done)
        others = [words for words in taken if words.first not in first_word.values()]
        offsets = bank_offsets(self.workload)
        kept_tensors = LeftTensors(offsets, first_word, tuple(others))
        return ReadyMemories(kept_tensors, held, tuple(exchanges))

    def _exchange(self, read: SpaceTime, tensor: HeldTensor, taken: list[Taken]) -> tuple[M, int]:
        """Run the exchange that brings a tensor to an Einsum; return it and the new address.

        Raises InfeasibleMapping if there is none.
        """
        kept = self.tensors[tensor.name]
        profile = self.settings.profile(read.grid)
        offset = bank_offsets(self.workload)[tensor.name]
        word = free_word(0, words_of(tensor, read), offset, taken)
        check_size(read, word + words_of(tensor, read), profile.sram_reserved_bytes)
        addresses = ExchangeAddresses(kept.first_word, word)
        for exchange in exchanges_of(tensor.name, kept.where, needed(read, tensor)):
            done = self.move(exchange, read, profile, addresses, kept.values)
            if done is not None:
                return done, word
        raise lies_elsewhere(read, tensor)

    def finish(self, plan: Plan, memory: Dict[str, AnyArray]) -> None:
        """Keep the result of an Einsum if it stays; drop what no later Einsum reads.

        plan: of the Einsum that ran; `memory`: what the elements hold then, by tensor, without what
        Einsums of a pipeline passed on.
        """
        read, output = plan.read, plan.read.output
        if output.name in self.staying and output.name in memory:
            self.tensors[output.name] = _Kept(
                where=produced(read),
                first_word=plan.addresses.first_word[output.name],
                words=words_of(output, read),
                values=memory[output.name],
            )
        number = self.workload.einsums.index(read.workload_einsum)
        last = intermediates(self.workload)
        self.tensors = {name: k for name, k in self.tensors.items() if last[name] > number}
