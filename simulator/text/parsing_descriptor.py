"""Declarations whose line names what is declared above it: a tensor access, a color, a view.

    mem1d odd tensor_access "|i|{5} -> a[2*i + 1]"
    fabin in color x extent 4
    buffer middle f32 [2, 2] of a(4)

They are read as the plain declaration with offset and strides, a queue's number, an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.arch.errors import Where
from tilewright.simulator.descriptors.fabric_streams import (
    FABIN_PROPERTIES,
    FABOUT_PROPERTIES,
    queue_of_color,
)
from tilewright.simulator.descriptors.memory_vectors import MEM1D_PROPERTIES, MEM4D_PROPERTIES
from tilewright.simulator.isa.dsd import Buffer, Fabin, Fabout, Mem1d, Mem4d, mem4d_access, view_of
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.tensor_access import check_alone, check_one_variable, lowered_access
from tilewright.simulator.program.program import Queue
from tilewright.simulator.text.tokens import Line

_VECTORS: Final = {"mem1d": MEM1D_PROPERTIES, "mem4d": MEM4D_PROPERTIES}
_STREAMS: Final = {"fabin": FABIN_PROPERTIES, "fabout": FABOUT_PROPERTIES}


class _LinePlace:
    """Context manager: an error inside that has no place gets that of a line's column."""

    def __init__(self, line: Line) -> None:
        self.where = Where(line.file, line.row, line.column)

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ProgramError) and error.where is None:
            raise ProgramError(
                error.what, where=self.where, value=error.value, instead=error.instead
            ) from None


def parse_tensor_access(
    line: Line, word: str, code: str, buffers: Sequence[Buffer]
) -> Mem1d | Mem4d:
    """Return the descriptor of a line `name tensor_access "expression"`, lowered to its strides.

    `word`: mem1d or mem4d; `code`: its name, for messages; `buffers`: those declared above. Raises
    ProgramError with the column.
    """
    name = line.name("the descriptor's name")
    line.expect("tensor_access")
    place = f"code {code}, DSD {name}"
    if word not in _VECTORS:
        raise line.fail(f"{place}: only mem1d and mem4d have a tensor access", value=word)
    with _LinePlace(line):
        text = line.name("an expression in double quotes")
        buffer, loops, offset = lowered_access(f"code {code}", text, buffers)
        given: dict[str, Any] = line.settings(_VECTORS[word], f"property of {word}")
        indexed = given.pop("wavelet_index_offset", False)
        check_alone(place, list(given))
        if word == "mem1d":
            check_one_variable(place, loops, text)
            extent, stride = loops[0]
            return Mem1d(name, buffer, extent, stride, offset, indexed)
        plain = mem4d_access(name, buffer, loops, offset)
        return Mem4d(name, buffer, plain.extents, plain.strides, offset, indexed)


def parse_stream_of_color(
    line: Line, word: str, code: str, queues: Sequence[Queue]
) -> Fabin | Fabout:
    """Return the descriptor of a line `name color x extent n`, with the queue of that color.

    `word`: fabin or fabout; `code`: its name, for messages; `queues`: the input or output queues
    declared above. Raises ProgramError with the column.
    """
    name = line.name("the descriptor's name")
    line.expect("color")
    if word not in _STREAMS:
        raise line.fail(f"code {code}, DSD {name}: only fabin and fabout have a color", value=word)
    with _LinePlace(line):
        number = queue_of_color(f"code {code}, DSD {name}", line.name("a color's name"), queues)
    properties = {key: parser for key, parser in _STREAMS[word].items() if key != "queue"}
    given = line.settings(properties, f"property of {word}", ("extent",))
    record = Fabin if word == "fabin" else Fabout
    return record(name, number, **given)


def parse_view(line: Line, view: Buffer, buffers: Sequence[Buffer]) -> Buffer:
    """Return a view with the address of `of buffer`, or of `of buffer(first)`, at a line's end.

    `view`: what the line has said so far; `buffers`: those declared above; `first`: an element of
    the buffer. Raises ProgramError with the column.
    """
    line.expect("of")
    with _LinePlace(line):
        name, first = line.name("a buffer"), 0
        if line.has("("):
            first = line.integer("an element")
            line.expect(")")
        return view_of(name, buffers, view, first)
