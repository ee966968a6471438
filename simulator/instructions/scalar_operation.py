"""Scalar instructions: `y = mul.f32 x, table(k)` on counters, elements of buffers and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.encode_values import bits_of
from tilewright.simulator.instructions.kind import BodyParser, CheckContext, Encoder, Kind
from tilewright.simulator.isa.dsd import CounterValue, Element, Immediate
from tilewright.simulator.isa.machine_errors import ProgramError, close_names
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.isa.operations import SCALAR_ONLY
from tilewright.simulator.isa.resolving import check_bounds, resolve_operand
from tilewright.simulator.isa.scalars import FLOAT_ONLY, INTEGER_ONLY, SCALARS, source_dtypes
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.text.operand_text import element_text, parse_element
from tilewright.simulator.text.tokens import Line, print_name, print_number

Value = str | Element | Immediate
"""A scalar: a counter by name, an element of a buffer, a number."""
SCALAR_TYPES: Final = ("f32", "f16", "i16", "u16", "i32", "u32")
"""In the order of the engine's codes."""


@dataclass(frozen=True, slots=True)
class ScalarOperation(Instruction):
    """A scalar instruction: `dest = operation(sources)` on values of a dtype.

    `dest`: a counter (a named 32-bit variable of the element that lives across tasks) or an element
    of a buffer; `operation`: add, mul, sqrt, ...; `sources`: counters, elements or numbers of the
    same dtype, except that from_int takes an i32, from_half an f16, to_half an f32, and the second
    source of scale is an i16. A
    counter holds a float by its bits.
    """

    dest: Value
    operation: str
    sources: tuple[Value, ...]
    dtype: str

    @property
    def counters_set(self) -> tuple[str, ...]:
        """The counter that gets the result, if it does not go to memory."""
        return (self.dest,) if isinstance(self.dest, str) else ()


def begins(line: Line) -> bool:
    """Return whether a line of text begins a scalar instruction: `name =` or `buffer(`."""
    return line.peek(1) in ("=", "(")


def _parse(line: Line, _: BodyParser) -> ScalarOperation:
    dest = _parse_value(line)
    line.expect("=")
    operation = line.name("a scalar operation")
    line.expect(".")
    dtype = line.name("a dtype")
    sources = [_parse_value(line)]
    while line.has(","):
        sources.append(_parse_value(line))
    return ScalarOperation(dest, operation, tuple(sources), dtype)


def _parse_value(line: Line) -> Value:
    if line.peek().startswith("#"):
        return Immediate(line.number())
    name = line.name("a counter, buffer(index) or #number")
    return parse_element(line, name) if line.peek() == "(" else name


def _text(instruction: ScalarOperation) -> str:
    sources = ", ".join(map(_value_text, instruction.sources))
    dest = _value_text(instruction.dest)
    return f"{dest} = {instruction.operation}.{instruction.dtype} {sources}"


def _value_text(value: Value) -> str:
    if isinstance(value, Immediate):
        return f"#{print_number(value.value)}"
    return element_text(value) if isinstance(value, Element) else print_name(value)


def _check(instruction: ScalarOperation, context: CheckContext) -> None:
    _check_operation(instruction, context.place)
    place = f"{context.place}, {instruction.operation}"
    dtypes = (instruction.dtype, *source_dtypes(instruction.operation, instruction.dtype))
    for dtype, value in zip(dtypes, (instruction.dest, *instruction.sources), strict=True):
        if isinstance(value, Element):
            _check_element(value, dtype, place, context)


def _check_operation(instruction: ScalarOperation, place: str) -> None:
    name = instruction.operation
    if name not in SCALARS:
        raise ProgramError(
            f"{place}: unknown scalar operation",
            value=name,
            instead=close_names(name, tuple(SCALARS)),
        )
    if instruction.dtype not in DTYPES:
        raise ProgramError(f"{place}, {name}: unknown dtype", value=instruction.dtype)
    sources = SCALARS[name][1]
    if len(instruction.sources) != sources:
        raise ProgramError(
            f"{place}, {name}: needs {sources} sources", value=len(instruction.sources)
        )
    is_float = instruction.dtype in {"f32", "f16"}
    if name in (INTEGER_ONLY if is_float else FLOAT_ONLY):
        raise ProgramError(f"{place}, {name}: not for this dtype", value=instruction.dtype)
    if not isinstance(instruction.dest, str | Element):
        raise ProgramError(f"{place}, {name}: the destination is a counter or an element")


def _check_element(value: Element, dtype: str, place: str, context: CheckContext) -> None:
    element = resolve_operand(context.code, value, place)
    check_bounds(element, context.counts, place)
    buffer = element.buffer
    assert buffer is not None
    if DTYPES[buffer.dtype] != DTYPES[dtype]:
        raise ProgramError(
            f"{place}: buffer {buffer.name} has values of another size",
            value=buffer.dtype,
            instead=" or ".join(name for name in DTYPES if DTYPES[name] == DTYPES[dtype]),
        )


def encode_scalar(instruction: ScalarOperation, encoder: Encoder) -> None:
    """Append the rows of a scalar instruction to the engine's tables.

    Raises ProgramError for a number that the dtype cannot hold.
    """
    code, sources = SCALARS[instruction.operation]
    place = f"code {encoder.code.name}, task {encoder.task}, {instruction.operation}"
    row = [code, SCALAR_TYPES.index(instruction.dtype)]
    row += _value_columns(instruction.dest, instruction.dtype, place, encoder)
    dtypes = source_dtypes(instruction.operation, instruction.dtype)
    for dtype, value in zip(dtypes, instruction.sources, strict=True):
        row += _value_columns(value, dtype, place, encoder)
    row += [at.NUMBER, 0] * (2 - sources)
    encoder.emit(at.I_COMPUTE, encoder.append_scalar(row))


def _value_columns(value: Value, dtype: str, place: str, encoder: Encoder) -> list[int]:
    """Return the (kind, value) columns of a scalar."""
    if isinstance(value, str):
        return [at.COUNTER_VALUE, encoder.variable(value)]
    if isinstance(value, Element):
        return [at.ELEMENT, encoder.operand(resolve_operand(encoder.code, value, place))]
    bits = bits_of(value.value, dtype, place)
    sign = 1 << (16 * DTYPES[dtype] - 1)
    is_negative = dtype in {"i16", "i32"} and bits & sign
    return [at.NUMBER, bits - 2 * sign if is_negative else bits]


def scalar_only(resolved: ResolvedOperation) -> ScalarOperation:
    """Return an operation without descriptors (fnorms, fscaleh, ...) as a scalar instruction.

    Raises ProgramError for a source that is an expression of counters, not one counter.
    """
    op = resolved.source
    assert isinstance(op.dest, Element)
    values: list[Value] = []
    for source in op.sources:
        if not isinstance(source, CounterValue):
            assert isinstance(source, Element | Immediate)
            values.append(source)
            continue
        if source.index.constant or len(source.index.terms) != 1:
            raise ProgramError(
                f"@{op.operation}: a scalar is a number, an element or a counter",
                value=str(source.index),
            )
        values.append(source.index.terms[0][0])
    name = SCALAR_ONLY[op.operation]
    return ScalarOperation(op.dest, name, tuple(values), resolved.operation.mixed[1][0])


COMPUTE: Final = Kind(
    record=ScalarOperation,
    begins=begins,
    parse=_parse,
    text=_text,
    check=_check,
    encode=encode_scalar,
)
