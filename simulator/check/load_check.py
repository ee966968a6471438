"""Checks of loads of registers, and of what else an asynchronous operation is configured with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tilewright.simulator.isa.dsd import FILES, Circbuf, Fabin, Fabout, Fifo, Mem4d, Ref, Register
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import check_bounds, resolve_operand
from tilewright.simulator.program.program import ElementCode, LoadRegister, OnControl

NO_COUNTS: Final[Mapping[str, int]] = MappingProxyType({})
ON_CONTROL = ("terminate", "activate", "unblock")


def no_groups(where: str, dsd: Fabin | Fabout) -> ProgramError:
    """Return the error of a map over wavelets of two values."""
    return ProgramError(
        f"{where}: the callback of a map takes one value, a wavelet of {dsd.name} has two",
        value=dsd.simd,
        instead="a descriptor without SIMD mode",
    )


def check_on_control(code: ElementCode, chosen: OnControl | None, where: str) -> None:
    """Refuse an unknown action of a control wavelet. Raises ProgramError."""
    if chosen is None:
        return
    if chosen.action not in ON_CONTROL:
        raise ProgramError(
            f"{where}: unknown on_control", value=chosen.action, instead=", ".join(ON_CONTROL)
        )
    known = {task.name for task in code.tasks}
    if (chosen.task is None) != (chosen.action == "terminate") or (
        chosen.task is not None and chosen.task not in known
    ):
        raise ProgramError(f"{where}: on_control {chosen.action} needs a task", value=chosen.task)


def registers_needed(dsd: Mem4d) -> int:
    """Return the stride registers of a descriptor whose extents are known (wafer.md §6.3)."""
    free = 1 if dsd.strides[0] != 1 else 2
    return max(0, len(dsd.extents) - free)


def check_load(
    code: ElementCode, load: LoadRegister, where: str, counts: Mapping[str, int] = NO_COUNTS
) -> None:
    """Refuse a load that the register's type or the descriptor forbids. Raises ProgramError."""
    register = load.register
    if not isinstance(register, Register) or register.file not in FILES:
        raise ProgramError(f"{where}: the file of a register is dest, src0 or src1")
    operand = resolve_operand(code, Ref(load.dsd, load.offset), where)
    dsd = operand.dsd
    if isinstance(dsd, Fifo):
        raise ProgramError(f"{where}: a FIFO cannot be loaded into a register", value=dsd.name)
    if isinstance(dsd, Fabin) and register.file == "dest":
        raise ProgramError(f"{where}: a fabin DSD cannot be loaded into dsr_dest", value=dsd.name)
    if isinstance(dsd, Fabout) and register.file != "dest":
        raise ProgramError(f"{where}: a fabout DSD is loaded into dsr_dest only", value=dsd.name)
    if isinstance(dsd, Fabin | Fabout) and dsd.simd and load.single_step:
        raise no_groups(where, dsd)
    if isinstance(dsd, Mem4d | Circbuf) and load.xdsr is None:
        raise ProgramError(f"{where}: {dsd.name} needs an extended register", value=None)
    if not isinstance(dsd, Mem4d | Circbuf) and load.xdsr is not None:
        raise ProgramError(f"{where}: no extended register holds it", value=load.dsd)
    check_bounds(operand, counts, where)
    needed = 0
    if isinstance(dsd, Mem4d):
        needed = 3 if load.offset.terms else registers_needed(dsd)
    if len(load.strides) != needed:
        raise ProgramError(f"{where}: needs {needed} stride registers", value=len(load.strides))
    _check_load_settings(code, load, isinstance(dsd, Fabin | Fabout), where)


def _check_load_settings(code: ElementCode, load: LoadRegister, fabric: bool, where: str) -> None:
    check_on_control(code, load.on_control, where)
    waits = load.activate or load.unblock or load.on_control
    if (load.asynchronous or waits) and not fabric:
        raise ProgramError(f"{where}: only a fabric DSD is loaded as asynchronous")
    if load.activate and load.unblock:
        raise ProgramError(f"{where}: at most one of activate and unblock")
    if waits and not load.asynchronous:
        raise ProgramError(f"{where}: only an asynchronous load can activate a task")
    for name in (load.activate, load.unblock):
        if name is not None and name not in {task.name for task in code.tasks}:
            raise ProgramError(f"{where}: unknown task", value=name)
    if load.save_address and fabric:
        raise ProgramError(f"{where}: save_address is for memory DSDs")
