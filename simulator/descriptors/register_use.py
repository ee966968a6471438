"""The registers that the descriptors of an operation are loaded into, by kind of register."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tilewright.simulator.descriptors.table import descriptor_kind
from tilewright.simulator.isa.dsd import Fabin, Fabout, Fifo
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation

MAIN_THREAD = -1


class RegisterUse(NamedTuple):
    """The data-structure registers that one instruction occupies while it runs.

    `thread`: number of its microthread, -1 for the main thread, whose instructions share registers;
    `counts`: number by kind (dest, src0, src1, extended, stride).
    """

    thread: int
    counts: Mapping[str, int]


def register_use(resolved: ResolvedOperation, source_files: Sequence[str]) -> RegisterUse:
    """Return the registers that the descriptors of an operation are loaded into.

    `source_files`: the register file (src0 or src1) of each source that is a descriptor, in order.
    """
    sources = [source for source in resolved.sources if source.letter == "D"]
    placed = [("dest", resolved.dest), *zip(source_files, sources, strict=True)]
    counts: dict[str, int] = {}
    for file, operand in placed:
        for kind, count in _operand_registers(file, operand):
            counts[kind] = counts.get(kind, 0) + count
    return RegisterUse(_thread(resolved), counts)


def _operand_registers(file: str, operand: ResolvedOperand) -> Iterator[tuple[str, int]]:
    """Yield (kind, number) of the registers of an operand.

    file: kind of the register that holds the descriptor. A FIFO yields none: it keeps its own for
    the whole program.
    """
    if operand.dsd is None or isinstance(operand.dsd, Fifo):
        return
    extra = descriptor_kind(operand.dsd).extra_registers(operand.dsd)
    yield file, 1
    yield "extended", extra.extended
    yield "stride", extra.stride


def _thread(resolved: ResolvedOperation) -> int:
    source = resolved.source
    if not source.asynchronous:
        return MAIN_THREAD
    queues = [o.dsd.queue for o in resolved.operands if isinstance(o.dsd, Fabin | Fabout)]
    return source.microthread if source.microthread is not None else (*queues, MAIN_THREAD)[0]
