"""Tensors that stay in the elements' memories from one Einsum to those that read them.

Their addresses hold over their lifetimes, and their values are carried from run to run as the
elements left them (theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, field

from tilewright.mapper.grid.distribution import Distribution, check_serves, produced
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import Mapping, Storage
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.einsum_execution import EinsumExecution
from tilewright.simulator.execution.operands import AnyArray
from tilewright.simulator.lowering.addresses import (
    APART_WORDS,
    PERIOD_WORDS,
    LeftTensors,
    words_of,
)


def intermediates(workload: Workload) -> dict[str, int]:
    """Return the tensors that one Einsum computes and a later one reads: (number of the last)."""
    written: set[str] = set()
    last: dict[str, int] = {}
    for number, einsum in enumerate(workload.einsums):
        for access in einsum.inputs:
            if access.tensor in written:
                last[access.tensor] = number
        written.update(access.tensor for access in einsum.outputs)
    return last


def bank_offsets(workload: Workload) -> dict[str, int]:
    """Return the address modulo 8 at which each intermediate lies if it stays: 0 or 4.

    The result of an Einsum lies apart from the first intermediate that the Einsum reads, so that
    both are read at once.
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
    intermediate store it outside.
    """
    staying = set()
    for tensor in intermediates(workload):
        users = [einsum.name for einsum in workload.einsums if tensor in einsum.tensors]
        outside = [name for name in users if tensor in _outside(mappings[name], host)]
        if not outside:
            staying.add(tensor)
        elif len(outside) < len(users):
            inside = next(name for name in users if name not in outside)
            raise InfeasibleMapping(
                f"{tensor} is in {host} for Einsum {outside[0]}, but not for {inside}",
                instead=f"a Storage of {tensor} in {host} for all of {', '.join(users)}, or none",
            )
    return frozenset(staying)


def _outside(mapping: Mapping, host: str) -> set[str]:
    return {
        name
        for node in mapping.nodes
        if isinstance(node, Storage) and node.component == host
        for name in node.tensors
    }


@dataclass(frozen=True, slots=True)
class _Kept:
    """One tensor in the elements' memories: where, since which run, and what it holds."""

    where: Distribution
    first_word: int
    words: int
    values: AnyArray


@dataclass(slots=True)
class Exchange:
    """The tensors that stay in the elements while the Einsums of a workload run in turn."""

    workload: Workload
    staying: frozenset[str]
    tensors: dict[str, _Kept] = field(default_factory=dict)

    def kept_for(self, read: SpaceTime) -> LeftTensors:
        """Return what is in the memories when an Einsum begins; checks that it serves the Einsum.

        Raises InfeasibleMapping if a tensor lies elsewhere than the Einsum needs it.
        """
        names = {tensor.name for tensor in read.inputs}
        for tensor in read.inputs:
            if tensor.name in self.tensors:
                check_serves(self.tensors[tensor.name].where, read, tensor)
        return LeftTensors(
            offsets=bank_offsets(self.workload),
            first_word={n: k.first_word for n, k in self.tensors.items() if n in names},
            taken=tuple(
                (k.first_word, k.first_word + k.words)
                for n, k in self.tensors.items()
                if n not in names
            ),
        )

    def held_for(self, read: SpaceTime) -> dict[str, AnyArray]:
        """Return the contents of the elements that an Einsum's mapping uses, by tensor."""
        return {
            tensor.name: self.tensors[tensor.name].values[: read.rows, : read.columns]
            for tensor in read.inputs
            if tensor.name in self.tensors
        }

    def finish(self, run: EinsumExecution) -> None:
        """Keep the result of an Einsum if it stays; drop what no later Einsum reads."""
        read, output = run.plan.read, run.plan.read.output
        if output.name in self.staying:
            self.tensors[output.name] = _Kept(
                where=produced(read),
                first_word=run.plan.addresses.first_word[output.name],
                words=words_of(output, read),
                values=run.memory[output.name],
            )
        number = self.workload.einsums.index(read.workload_einsum)
        last = intermediates(self.workload)
        self.tensors = {name: k for name, k in self.tensors.items() if last[name] > number}
