"""What all instructions have in common, and the two that codes and operands are made of.

An instruction is a frozen record. The folder `instructions` has a file for each kind of them; the
operation on descriptors and the load of a register are defined here, because the resolution of
operands and the declarations of a code name them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.simulator.isa.dsd import NO_OFFSET, Index, Operand, Register


class Instruction:
    """One instruction of a task's body; a subclass is a frozen record of its fields.

    The properties tell what walks through bodies need to know; most instructions have none of it.
    """

    __slots__ = ()

    @property
    def bodies(self) -> tuple[tuple[Instruction, ...], ...]:
        """The bodies inside, in the order of the text."""
        return ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands of the datapath, the destination first."""
        return ()

    @property
    def registers(self) -> tuple[Register, ...]:
        """The data-structure registers that it names."""
        return tuple(operand for operand in self.operands if isinstance(operand, Register))

    @property
    def counters_set(self) -> tuple[str, ...]:
        """The counters that it gives values, without those of its bodies and of a loop."""
        return ()


@dataclass(frozen=True, slots=True)
class OnControl:
    """A control wavelet ends an asynchronous operation: terminate, activate or unblock a task."""

    action: str
    task: str | None = None


@dataclass(frozen=True, slots=True)
class DsdOperation(Instruction):
    """One DSD operation: `@operation(dest, *sources)`.

    Synchronous: the task waits for its end. Asynchronous (at least one fabric operand): it runs
    on a microthread, and its end activates or unblocks a task (at most one of the two).
    """

    operation: str
    dest: Operand
    sources: tuple[Operand, ...]
    asynchronous: bool = False
    activate: str | None = None
    unblock: str | None = None
    microthread: int | None = None
    label: str = ""
    on_control: OnControl | None = None
    index: Index | None = None
    """The explicit index of descriptors with `wavelet_index_offset`."""
    priority: str = ""
    """Of its microthread (WSE-2), one of PRIORITIES; empty: the queue's or the descriptor's."""
    result: str | None = None
    """Counter that gets 1 at the end, 0 when a FIFO ended the operation (test_or_suspend)."""

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.dest, *self.sources)

    @property
    def counters_set(self) -> tuple[str, ...]:
        return () if self.result is None else (self.result,)


@dataclass(frozen=True, slots=True)
class LoadRegister(Instruction):
    """Load a descriptor into a register, with extended and stride registers where it needs them.

    Asynchronous settings hold for fabric descriptors, `save_address` for memory descriptors.
    """

    register: Register
    dsd: str
    offset: Index = NO_OFFSET
    xdsr: int | None = None
    strides: tuple[int, ...] = ()
    asynchronous: bool = False
    activate: str | None = None
    unblock: str | None = None
    on_control: OnControl | None = None
    save_address: bool = False
    single_step: bool = False
    microthread: int | None = None

    @property
    def registers(self) -> tuple[Register, ...]:
        return (self.register,)
