"""Check the data-structure registers that a code names against the machine of a profile."""

from __future__ import annotations

from tilewright.simulator.instructions.completion import check_machine_targets
from tilewright.simulator.isa.dsd import FILES, Circbuf, Fifo, Mem1d, Mem4d, Register
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.isa.resolving import operation_name, resolve
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import (
    all_instructions,
    all_loads,
    all_operations,
    loaded_descriptors,
)
from tilewright.simulator.program.instruction import LoadRegister
from tilewright.simulator.program.program import ElementCode


def used_registers(code: ElementCode) -> list[tuple[Register, object]]:
    """Return every data-structure register that a code names, with the part that names it.

    In the order of the text; explicit registers of FIFOs are included, a register may come twice.
    """
    uses: list[tuple[Register, object]] = [(load.register, load) for load in code.loads]
    for dsd in code.dsds:
        if isinstance(dsd, Fifo) and dsd.dest is not None and dsd.src is not None:
            uses += [(Register("dest", dsd.dest), dsd), (Register("src1", dsd.src), dsd)]
    for _, instruction in all_instructions(code):
        uses += [(register, instruction) for register in instruction.registers]
    return uses


def check_registers(code: ElementCode, profile: Profile) -> None:
    """Check that a machine has the registers that a code names, and that they can hold its data.

    `profile`: the numbers of the machine. Raises ProgramError.
    """
    place = f"code {code.name}"
    for register, part in used_registers(code):
        with ErrorSubject(part):
            _check_register(register, profile, place)
    for load in all_loads(code):
        with ErrorSubject(load):
            _check_numbers(load, profile, f"{place}, load of {load.register}")
            targets = (load.unblock, load.on_control.task if load.on_control else None)
            check_machine_targets(targets, profile, f"{place}, load of {load.register}")
    _check_fifos(code, profile, place)
    for task, op in all_operations(code):
        if any(isinstance(operand, Register) for operand in (op.dest, *op.sources)):
            with ErrorSubject(op):
                _check_types(
                    code, resolve(code, task.name, op), operation_name(code, task.name, op)
                )


def _check_register(register: Register, profile: Profile, place: str) -> None:
    if register.file not in FILES:
        raise ProgramError(
            f"{place}: no such file of registers",
            value=register.file,
            instead="one of " + ", ".join(FILES),
        )
    if not 0 <= register.id < profile.dsr_registers:
        raise ProgramError(
            f"{place}: {profile.name} has no register {register}",
            value=register.id,
            instead=f"0 to {profile.dsr_registers - 1}",
        )


def _check_types(code: ElementCode, resolved: ResolvedOperation, place: str) -> None:
    """Refuse a register that never holds values of a dtype that an operation takes."""
    for number, operand in enumerate(resolved.operands):
        if operand.register is not None:
            legal = resolved.operation.legal(number)
            _check_loaded_types(code, operand.register, legal, place)


def _check_loaded_types(
    code: ElementCode, register: Register, legal: tuple[str, ...], place: str
) -> None:
    descriptors = loaded_descriptors(code, register)
    memory = [dsd for dsd in descriptors if isinstance(dsd, Mem1d | Mem4d | Circbuf)]
    buffers = [b for b in (code.buffer(dsd.buffer) for dsd in memory) if b is not None]
    if not descriptors or len(buffers) < len(descriptors):
        return  # a queue gives values of any dtype
    if not {buffer.dtype for buffer in buffers} & set(legal):
        raise ProgramError(
            f"{place}: register {register} holds {memory[0].name}, "
            f"whose buffer {buffers[0].name} has the wrong dtype",
            value=buffers[0].dtype,
            instead=" or ".join(legal),
        )


def _check_numbers(load: LoadRegister, profile: Profile, place: str) -> None:
    for kind, numbers, count in (
        ("extended", () if load.xdsr is None else (load.xdsr,), profile.xdsr_registers),
        ("stride", load.strides, profile.stride_registers),
    ):
        for number in numbers:
            if not 0 <= number < count:
                raise ProgramError(
                    f"{place}: {profile.name} has no {kind} register {number}",
                    value=number,
                    instead=f"0 to {count - 1}",
                )
    if len(set(load.strides)) != len(load.strides):
        raise ProgramError(f"{place}: a stride register is named twice", value=load.strides)


def _check_fifos(code: ElementCode, profile: Profile, place: str) -> None:
    fifos = [dsd for dsd in code.dsds if isinstance(dsd, Fifo)]
    loaded = {register.id for register, _ in used_registers(code) if register.file != "src0"}
    for fifo in fifos:
        with ErrorSubject(fifo):
            _check_fifo(code, fifo, profile)
    free = min(profile.dsr_registers - len(loaded), profile.xdsr_registers)
    implicit = sum(fifo.dest is None for fifo in fifos)
    if implicit > free:
        raise ProgramError(
            f"{place}: {implicit} FIFOs need as many dest, src1 and extended registers, "
            f"{profile.name} has {free} left",
            value=implicit,
            instead="fewer FIFOs",
        )


def _check_owned(code: ElementCode, fifo: Fifo, place: str) -> None:
    """Refuse loads into the registers that a FIFO has for the whole program."""
    for load in all_loads(code):
        same_register = load.register.file != "src0" and load.register.id == fifo.dest
        if same_register or (load.xdsr is not None and load.xdsr == fifo.xdsr):
            raise ProgramError(
                f"{place}: load of {load.register} takes a register of this FIFO",
                value=load.register.id if same_register else load.xdsr,
                instead="registers that no FIFO has",
            )


def _check_fifo(code: ElementCode, fifo: Fifo, profile: Profile) -> None:
    place = f"code {code.name}, DSD {fifo.name}"
    _check_owned(code, fifo, place)
    _check_fifo_registers(fifo, profile, place)
    buffer = code.buffer(fifo.buffer)
    if buffer is not None and 2 * buffer.address % profile.fifo_alignment_bytes:
        raise ProgramError(
            f"{place}: the buffer of a FIFO starts at a multiple of "
            f"{profile.fifo_alignment_bytes} bytes on {profile.name}",
            value=2 * buffer.address,
        )
    if any(_share_registers(fifo, dsd) for dsd in code.dsds if isinstance(dsd, Fifo)):
        raise ProgramError(f"{place}: another FIFO has its registers", value=fifo.dest)
    _check_actions(fifo, profile, place)


def _check_fifo_registers(fifo: Fifo, profile: Profile, place: str) -> None:
    registers = {fifo.dest, fifo.src, fifo.xdsr}
    if None in registers and registers != {None}:
        raise ProgramError(f"{place}: dest, src and xdsr are given together or not at all")
    if fifo.dest != fifo.src:
        raise ProgramError(f"{place}: dest and src need the same id", value=(fifo.dest, fifo.src))
    if fifo.xdsr is not None and not 0 <= fifo.xdsr < profile.xdsr_registers:
        raise ProgramError(
            f"{place}: {profile.name} has no extended register {fifo.xdsr}", value=fifo.xdsr
        )


def _share_registers(fifo: Fifo, other_fifo: Fifo) -> bool:
    if fifo.dest is None or fifo.name == other_fifo.name:
        return False
    return other_fifo.dest == fifo.dest or other_fifo.xdsr == fifo.xdsr


def _check_actions(fifo: Fifo, profile: Profile, place: str) -> None:
    """Refuse a full action, and suspend and fault, where a profile has only the empty action."""
    if profile.fifo_full_action:
        return
    actions = (fifo.empty_action, fifo.full_action)
    if fifo.full_action != "test_or_suspend" or {"suspend", "fault"} & set(actions):
        raise ProgramError(
            f"{place}: {profile.name} has no full action, and no suspend or fault", value=actions
        )
