"""Load named buffers before a run and read them back after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.isa.dsd import Buffer
from tilewright.simulator.isa.machine_errors import InputDataError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import EdgeInput

Values = npt.NDArray[np.generic]
MemoryInput = npt.ArrayLike | Mapping[tuple[int, int], npt.ArrayLike]
NUMPY: dict[str, type[np.generic]] = {
    "f32": np.float32,
    "i32": np.int32,
    "u32": np.uint32,
    "f16": np.float16,
    "i16": np.int16,
    "u16": np.uint16,
}
LONG = 256
"""Words from which a buffer is copied element by element instead of by one index array."""


@dataclass(frozen=True, slots=True)
class BufferMap:
    """Find every buffer of a program by name, in the elements that have it, to load and to read it.

    A buffer is a named array in the memory (SRAM) of an element. program: says which code each
    element has, and the buffers of each code. base: (elements,) address of each element's first
    16-bit word in the memory of all elements.
    """

    program: Program
    base: at.Table
    """First word of each element."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all buffers of the program, sorted, each once.

        Views, which are other names for a part of a buffer, are left out.
        """
        buffers = (buffer for code in self.program.codes for buffer in code.buffers)
        return tuple(sorted({buffer.name for buffer in buffers if not buffer.view_of}))

    def holders(self, name: str) -> list[tuple[Buffer, npt.NDArray[np.int64]]]:
        """Return (buffer, elements) for each code that has a buffer of this name; [] if none has.

        The buffer says dtype, shape and address in the element. elements: numbers row * width +
        column of the elements that run the code.
        """
        codes = self.program.placement.ravel()
        holders = []
        for number, code in enumerate(self.program.codes):
            buffer = code.buffer(name)
            if buffer is not None:
                holders.append((buffer, np.flatnonzero(codes == number).astype(np.int64)))
        return holders

    def load(self, word: npt.NDArray[np.uint16], name: str, values: MemoryInput) -> None:
        """Write the values of one named buffer into the memory of every element that has it.

        - word: the memory of all elements as 16-bit words, changed; a 32-bit value takes two words.
        - name: of the buffer.
        - values: one array (grid height, grid width, *shape of the buffer) for all elements, or
          (height, width, *shape) for the smallest area that holds those with the buffer, or a
          mapping from (row, column) to an array of the buffer's shape for some elements.

        Raises InputDataError for an unknown buffer, an element outside the grid or without the
        buffer, a wrong shape, what is no array of numbers, and values that the buffer's dtype
        cannot hold.
        """
        holders = self.holders(name)
        if not holders:
            raise InputDataError(
                "memory is given for an unknown buffer",
                value=name,
                instead="one of " + ", ".join(self.names()),
            )
        if isinstance(values, Mapping):
            self._load_single(word, name, values)
            return
        array = as_array(values, f"memory for buffer {name}")
        grid, width = self.program.placement.shape, self.program.placement.shape[1]
        rows, columns = np.divmod(np.concatenate([elements for _, elements in holders]), width)
        first = rows.min(), columns.min()
        area = int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1
        for buffer, elements in holders:
            shapes = [(*grid, *buffer.shape), (*area, *buffer.shape)]
            if array.shape not in shapes:
                raise InputDataError(
                    f"memory for buffer {name} has the wrong shape",
                    value=array.shape,
                    instead=" or ".join(map(str, dict.fromkeys(shapes))),
                )
            row, column = np.divmod(elements, width)
            if array.shape != shapes[0]:
                row, column = row - first[0], column - first[1]
            flat = array.reshape(*array.shape[:2], buffer.elements)[row, column]
            self._write(word, buffer, elements, flat)

    def read(self, word: npt.NDArray[np.uint16], name: str) -> Values:
        """Return the values of one named buffer in all elements: (grid height, grid width, *shape).

        word: the memory of all elements as 16-bit words. Elements without the buffer give zeros. If
        codes have buffers of this name that differ in shape or dtype, the result is (height, width,
        values of the longest): each buffer flat, padded with zeros, in the first dtype. At least
        one code must have a buffer of this name (`names`).
        """
        holders = self.holders(name)
        kinds = {(buffer.dtype, buffer.shape) for buffer, _ in holders}
        longest = max(buffer.elements for buffer, _ in holders)
        dtype = NUMPY[holders[0][0].dtype]
        out = np.zeros((self.program.placement.size, longest), dtype=dtype)
        for buffer, elements in holders:
            out[elements, : buffer.elements] = self._read(word, buffer, elements)
        shape = holders[0][0].shape if len(kinds) == 1 else (longest,)
        return out.reshape(*self.program.placement.shape, *shape)

    def _load_single(
        self,
        word: npt.NDArray[np.uint16],
        name: str,
        values: Mapping[tuple[int, int], npt.ArrayLike],
    ) -> None:
        height, width = self.program.placement.shape
        for place, element_values in values.items():
            row, column = element_place(place, f"memory for {name}")
            if not (0 <= row < height and 0 <= column < width):
                raise InputDataError(f"memory for {name}: no such element", value=(row, column))
            buffer = self.program.codes[int(self.program.placement[row, column])].buffer(name)
            if buffer is None:
                raise InputDataError(f"element ({row}, {column}) has no buffer {name}")
            array = as_array(
                element_values, f"memory for buffer {name} of element ({row}, {column})"
            )
            if array.shape != buffer.shape:
                raise InputDataError(
                    f"memory for buffer {name} of element ({row}, {column}) has the wrong shape",
                    value=array.shape,
                    instead=str(buffer.shape),
                )
            number = np.array([row * width + column], dtype=np.int64)
            self._write(word, buffer, number, array.reshape(1, -1))

    def _first(self, buffer: Buffer, elements: npt.NDArray[np.int64]) -> at.Table:
        return np.asarray(self.base[elements] + buffer.address)

    def _addresses(self, buffer: Buffer, elements: npt.NDArray[np.int64]) -> at.Table:
        first = self._first(buffer, elements)
        return np.asarray(first[:, None] + np.arange(buffer.words, dtype=np.int64))

    def _write(
        self,
        word: npt.NDArray[np.uint16],
        buffer: Buffer,
        elements: npt.NDArray[np.int64],
        flat: Values,
    ) -> None:
        if elements.size == 0:
            return
        width = self.program.placement.shape[1]

        def place(row: int, value: int) -> str:
            place = divmod(int(elements[row]), width)
            index = [int(n) for n in np.unravel_index(value, buffer.shape)]
            return f"memory for buffer {buffer.name} of element {place}, value {index}"

        values = as_dtype(flat, buffer.dtype, place).view(np.uint16)
        if buffer.words < LONG:
            word[self._addresses(buffer, elements)] = values
            return
        for start, row in zip(self._first(buffer, elements).tolist(), values, strict=True):
            word[start : start + buffer.words] = row

    def _read(
        self, word: npt.NDArray[np.uint16], buffer: Buffer, elements: npt.NDArray[np.int64]
    ) -> Values:
        if buffer.words < LONG:
            raw = np.ascontiguousarray(word[self._addresses(buffer, elements)])
        else:
            raw = np.empty((elements.size, buffer.words), dtype=np.uint16)
            for row, start in zip(raw, self._first(buffer, elements).tolist(), strict=True):
                row[:] = word[start : start + buffer.words]
        return raw.view(NUMPY[buffer.dtype])


def as_array(values: npt.ArrayLike, name: str) -> Values:
    """Return values as a numpy array of numbers (of bool, integer or float kind).

    Raises InputDataError for rows of different lengths, text or objects; `name` says in the message
    whose values they are.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.zeros(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise InputDataError(
            f"{name}: no array of numbers", value=values, instead="rows of one length"
        )
    return array


def as_dtype(array: Values, dtype: str, place: Callable[[int, int], str]) -> Values:
    """Convert a table (rows, columns) to a dtype of the machine: integers exactly, floats rounded.

    dtype: one of f32, i32, u32, f16, i16, u16. place: gives the text that names a row and column in
    an error. Raises InputDataError for a value that the dtype does not hold: an integer out of
    range, a fraction for an integer dtype (2.5), a finite number that would become infinite
    (70000.0 as f16).
    """
    kind = np.dtype(NUMPY[dtype])
    if array.dtype == kind:
        return np.ascontiguousarray(array)
    with np.errstate(all="ignore"):
        converted = np.ascontiguousarray(array.astype(kind))
        if kind.kind == "f":
            lost = np.isinf(converted) & np.isfinite(array)
        else:
            limits = np.iinfo(kind)
            in_range = np.greater_equal(array, limits.min) & np.less_equal(array, limits.max)
            lost = ~(in_range & (array == np.trunc(array)))
    if lost.any():
        first = tuple(int(n) for n in np.argwhere(lost)[0])
        raise InputDataError(
            f"{place(*first)}: is no {dtype}",
            value=array[first].item(),
            instead=f"{limits.min} to {limits.max}" if kind.kind != "f" else "a wider dtype",
        )
    return converted


def element_place(place: object, what: str) -> tuple[int, int]:
    """Return the (row, column) for which a user gives something; InputDataError for anything else.

    place: what the user wrote; what: names in the message what is given there.
    """
    match place:
        case (int() | np.integer() as row, int() | np.integer() as column):
            return int(row), int(column)
    raise InputDataError(
        f"{what}: no element", value=place, instead="a pair (row, column), such as (0, 1)"
    )


def stream_bits(port: EdgeInput, values: npt.ArrayLike) -> at.Table:
    """Return the bits of the words that enter at an edge port: int64 (positions, count), >= 0.

    port: an input at the border of the grid, with `count` values of its dtype at each of its
    `positions`. values: numbers of the same shape. Raises InputDataError for another shape, what is
    no array of numbers, and values that the dtype cannot hold.
    """
    label = f"the data of edge input {port.name}"
    shape = (port.positions, port.count)
    array = as_array(values, label)
    if array.shape != shape:
        raise InputDataError(f"{label} has the wrong shape", value=array.shape, instead=str(shape))
    array = as_dtype(
        array, port.dtype, lambda row, column: f"{label}, position {row}, wavelet {column}"
    )
    raw = array.view(np.uint32 if DTYPES[port.dtype] == 2 else np.uint16)
    return np.asarray(raw.astype(np.int64))


def stream_values(payloads: at.Table, dtype: str) -> Values:
    """Return wavelet bits (int64, any shape) as values of a dtype: the low 16 or 32 bits each."""
    kind = np.uint32 if DTYPES[dtype] == 2 else np.uint16
    low = payloads & (0xFFFFFFFF if DTYPES[dtype] == 2 else 0xFFFF)
    return np.asarray(low.astype(kind).view(NUMPY[dtype]))
