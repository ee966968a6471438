"""What all instructions have in common, and the two that codes and operands are made of.

An instruction is a frozen record. The folder `instructions` has a file for each kind of them; the
operation on descriptors and the load of a register are defined here, because the resolution of
operands and the declarations of a code name them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.simulator.isa.dsd import Operand, Register
from tilewright.simulator.isa.index_expression import NO_OFFSET, Index


class Instruction:
    """Base of all instructions: a frozen record of its fields that stands in the body of a task.

    The properties give code that walks through a program what it needs; by default each is empty.
    """

    __slots__ = ()

    @property
    def bodies(self) -> tuple[tuple[Instruction, ...], ...]:
        """The bodies nested in it, in the order of the text: of a loop one, of a branch two."""
        return ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands of an operation on descriptors, destination first; else empty."""
        return ()

    @property
    def registers(self) -> tuple[Register, ...]:
        """The data-structure registers (which hold descriptors) that the instruction names."""
        return tuple(operand for operand in self.operands if isinstance(operand, Register))

    @property
    def counters_set(self) -> tuple[str, ...]:
        """The counters that it sets itself, not those set in its bodies nor a loop's variable.

        A counter is a named 32-bit variable of the element that lives across tasks.
        """
        return ()


@dataclass(frozen=True, slots=True)
class OnControl:
    """What a control wavelet that arrives does to an asynchronous operation: it ends it.

    `action`: `terminate` (nothing more), `activate` or `unblock`, which also do that to `task`
    (None with terminate).
    """

    action: str
    task: str | None = None


@dataclass(frozen=True, slots=True)
class DsdOperation(Instruction):
    """One operation on descriptors, as in CSL: `@operation(dest, *sources)`.

    Synchronous: the task waits for its end. `asynchronous` (it needs a fabric operand): it runs on
    a microthread beside the task; at its end it activates or unblocks a task (the names in
    `activate`, `unblock`, at most one of them). `microthread`: its number, None for that of its
    queue. `label`: a word for timelines. `on_control`: what an arriving control wavelet does.
    `index`: moves or tags the descriptors with `wavelet_index_offset`. `priority`: low, medium or
    high, of its microthread (WSE-2). `result`: the counter that gets 1 at the end, or 0 if a FIFO
    with the action test_or_suspend ended it.
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
    priority: str = ""
    """Of its microthread (WSE-2), one of PRIORITIES; empty: the queue's or the descriptor's."""
    result: str | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands of the operation: the destination, then the sources."""
        return (self.dest, *self.sources)

    @property
    def counters_set(self) -> tuple[str, ...]:
        """The counter (32-bit variable of the element) that gets the result, if there is one."""
        return () if self.result is None else (self.result,)


@dataclass(frozen=True, slots=True)
class LoadRegister(Instruction):
    """Load a descriptor into a data-structure register, for operations that name the register.

    `register`: the target; `dsd`: name of the descriptor; `offset`: values by which it is moved.
    `xdsr`: number of the extended register that four-dimensional and circular vectors take;
    `strides`: numbers of the stride registers. For descriptors of queues: `asynchronous`, with the
    task to `activate` or `unblock` at the end, and `on_control`, what a control wavelet does. For
    memory vectors: `save_address`, the next use goes on where the last one ended. `single_step`:
    needed for, and only for, the operands of a map, which takes one value at each step.
    `microthread`: the one that an asynchronous operation runs on.
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
        """The data-structure register that is loaded, as a tuple of one."""
        return (self.register,)
