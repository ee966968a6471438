"""The load of a data-structure register, in a task or before the start of the program.

A fabric descriptor may be loaded as asynchronous, with what its end does; a memory descriptor may
save its address. Descriptors of several dimensions and circular buffers take extended and stride
registers beside the register itself (wafer.md §6.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.descriptors.fabric_streams import paired_values_error
from tilewright.simulator.descriptors.memory_vectors import stride_registers
from tilewright.simulator.instructions.completion import (
    COMPLETION_PROPERTIES,
    check_on_control,
    check_targets,
    completion_columns,
    on_control_columns,
    on_control_text,
    target_task,
    target_text,
)
from tilewright.simulator.instructions.kind import BodyParser, CheckContext, Counts, Encoder, Kind
from tilewright.simulator.isa.dsd import (
    FILES,
    Circbuf,
    Dsd,
    Fabin,
    Fabout,
    Fifo,
    Mem4d,
    Ref,
    Register,
)
from tilewright.simulator.isa.index_expression import NO_OFFSET
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.resolving import check_bounds, resolve_operand
from tilewright.simulator.program.instruction import LoadRegister
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.operand_text import parse_bracket, parse_register
from tilewright.simulator.text.tokens import (
    Line,
    Properties,
    flag,
    print_index,
    print_name,
    print_settings,
)

LOAD_PROPERTIES: Final[Properties] = {
    **COMPLETION_PROPERTIES,
    "xdsr": Line.integer,
    "ut": Line.integer,
    "save_address": flag,
    "single_step": flag,
}
_FIELDS: Final = {"async": "asynchronous", "ut": "microthread"}
"""Fields of `LoadRegister` whose words are shorter."""


def parse_load(line: Line) -> LoadRegister:
    """Return the load of a register that the rest of a `load` line describes.

    Raises ProgramError with the column.
    """
    register = parse_register(line)
    name = line.name("a descriptor")
    offset = parse_bracket(line, "[", "]") if line.peek() == "[" else NO_OFFSET
    strides = []
    given: dict[str, Any] = {}
    while line.more:
        word = line.choose((*LOAD_PROPERTIES, "sr"), "property of a load")
        if word == "sr":
            strides.append(line.integer("a stride register"))
        else:
            given[_FIELDS.get(word, word)] = LOAD_PROPERTIES[word](line)
    return LoadRegister(register, name, offset, strides=tuple(strides), **given)


def load_text(load: LoadRegister) -> str:
    """Return the line of the text form for a load of a register."""
    offset = "" if load.offset == NO_OFFSET else f"[{print_index(load.offset)}]"
    text = f"load %{load.register} {print_name(load.dsd)}{offset}"
    text += "" if load.xdsr is None else f" xdsr {load.xdsr}"
    text += "".join(f" sr {number}" for number in load.strides)
    text += " async" if load.asynchronous else ""
    text += print_settings(load, ("activate",))
    text += f" unblock {target_text(load.unblock)}" if load.unblock else ""
    text += on_control_text(load.on_control)
    text += "" if load.microthread is None else f" ut {load.microthread}"
    flags = ("save_address", "single_step")
    return text + "".join(f" {word}" for word in flags if getattr(load, word))


def check_load(code: ElementCode, load: LoadRegister, place: str, counts: Counts) -> None:
    """Check that a register can hold the descriptor that is loaded, with these settings.

    `counts`: loop variables known to be in 0..count-1, for the bounds of the offset; `place`: for
    the message. Raises ProgramError.
    """
    register = load.register
    if not isinstance(register, Register) or register.file not in FILES:
        raise ProgramError(f"{place}: the file of a register is dest, src0 or src1")
    operand = resolve_operand(code, Ref(load.dsd, load.offset), place)
    dsd = operand.dsd
    assert dsd is not None
    _check_file(load, dsd, place)
    _check_extended(load, dsd, place)
    check_bounds(operand, counts, place)
    needed = 0
    if isinstance(dsd, Mem4d):
        needed = 3 if load.offset.terms else stride_registers(dsd)
    if len(load.strides) != needed:
        raise ProgramError(f"{place}: needs {needed} stride registers", value=len(load.strides))
    _check_settings(code, load, isinstance(dsd, Fabin | Fabout), place)


def _check_file(load: LoadRegister, dsd: Dsd, place: str) -> None:
    """Refuse a descriptor that the file of the register does not hold."""
    is_dest = load.register.file == "dest"
    if isinstance(dsd, Fifo):
        raise ProgramError(f"{place}: a FIFO cannot be loaded into a register", value=dsd.name)
    if isinstance(dsd, Fabin) and is_dest:
        raise ProgramError(f"{place}: a fabin DSD cannot be loaded into dsr_dest", value=dsd.name)
    if isinstance(dsd, Fabout) and not is_dest:
        raise ProgramError(f"{place}: a fabout DSD is loaded into dsr_dest only", value=dsd.name)
    if isinstance(dsd, Fabin | Fabout) and dsd.simd and load.single_step:
        raise paired_values_error(place, dsd)


def _check_extended(load: LoadRegister, dsd: Dsd, place: str) -> None:
    needs_extended = isinstance(dsd, Mem4d | Circbuf)
    if needs_extended and load.xdsr is None:
        raise ProgramError(f"{place}: {dsd.name} needs an extended register", value=None)
    if not needs_extended and load.xdsr is not None:
        raise ProgramError(f"{place}: no extended register holds it", value=load.dsd)


def _check_settings(code: ElementCode, load: LoadRegister, fabric: bool, place: str) -> None:
    _check_completion(code, load, fabric, place)
    if load.save_address and fabric:
        raise ProgramError(f"{place}: save_address is for memory DSDs")
    if load.single_step and (load.save_address or load.asynchronous):
        other = "save_address" if load.save_address else "async"
        raise ProgramError(
            f"{place}: single_step and {other} exclude each other",
            value=f"single_step {other}",
            instead="one of them",
        )


def _check_completion(code: ElementCode, load: LoadRegister, fabric: bool, place: str) -> None:
    check_on_control(code, load.on_control, place)
    starts_task = load.activate or load.unblock or load.on_control
    if (load.asynchronous or starts_task) and not fabric:
        raise ProgramError(f"{place}: only a fabric DSD is loaded as asynchronous")
    if load.activate and load.unblock:
        raise ProgramError(f"{place}: at most one of activate and unblock")
    if starts_task and not load.asynchronous:
        raise ProgramError(f"{place}: only an asynchronous load can activate a task")
    _check_tasks(code, (load.activate, load.unblock), place)
    check_targets(code, load.activate, load.unblock, place)


def _check_tasks(code: ElementCode, names: Sequence[str | None], place: str) -> None:
    """Refuse names that no task of the code has; None stands for no task."""
    for name in names:
        if name is not None and target_task(code, name) is None:
            raise ProgramError(f"{place}: unknown task", value=name)


def load_row(load: LoadRegister, encoder: Encoder) -> int:
    """Append the row of a register load to the engine's table of loads; return the row's number."""
    register, operand = encoder.register(load.register), encoder.loaded_operand(load)
    row = [register, operand, int(load.asynchronous)]
    row += completion_columns(load, encoder)
    row += on_control_columns(load.on_control, encoder)
    row += [int(load.save_address), int(load.single_step)]
    extra = extra_registers(load, encoder)
    row += [*extra, *[0] * (at.R_WIDTH - at.R_EXTRAS - len(extra))]
    return encoder.append_load(row)


def extra_registers(load: LoadRegister, encoder: Encoder) -> list[int]:
    """Return the numbers, plus 1, of the extended and stride registers that a load takes.

    A multi-dimensional or circular vector needs them beside the register itself. 0 is left to mean
    none.
    """
    extended = [] if load.xdsr is None else [Register("xdsr", load.xdsr)]
    strides = [Register("sr", number) for number in load.strides]
    return [encoder.register(register) + 1 for register in (*extended, *strides)]


def _parse(line: Line, _: BodyParser) -> LoadRegister:
    return parse_load(line)


def _check(load: LoadRegister, context: CheckContext) -> None:
    check_load(context.code, load, f"{context.place}, load of {load.register}", context.counts)


def _encode(load: LoadRegister, encoder: Encoder) -> None:
    encoder.emit(at.I_LOAD_REGISTER, load_row(load, encoder))


LOAD_REGISTER: Final = Kind(
    record=LoadRegister, words={"load": _parse}, text=load_text, check=_check, encode=_encode
)
