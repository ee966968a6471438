"""Areas that together hold chosen elements of a grid, and few of them where these lie evenly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tilewright.simulator.program.routes import Area

Numbers = npt.NDArray[np.integer] | npt.NDArray[np.bool_]


def progressions(numbers: Sequence[int]) -> Iterator[range]:
    """Cut rising numbers into ranges of equal steps, the first one as long as it can be, and so on.

    Of two numbers the second one is left to a range of smaller steps that it begins. Example: 0, 2,
    4, 6, 7, 8 are range(0, 7, 2) and range(7, 9); 0, 5, 6, 7 are range(0, 1) and range(5, 8).
    """
    if isinstance(numbers, range):
        yield from [numbers] if numbers else ()
        return
    first = 0
    while first < len(numbers):
        end = first + 1
        step = numbers[end] - numbers[first] if end < len(numbers) else 1
        while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        is_pair = end - first == 2 and step > 1
        if is_pair and end < len(numbers) and numbers[end] - numbers[end - 1] < step:
            end, step = first + 1, 1
        yield range(numbers[first], numbers[end - 1] + 1, step)
        first = end


def areas_of(rows: Sequence[int], columns: Sequence[int]) -> Iterator[Area]:
    """Yield areas of the elements at the crossings of some rows and columns, rising numbers."""
    for lines in progressions(rows):
        for places in progressions(columns):
            yield Area.of(lines, places)


def areas_along(axis: str, lines: range, places: Sequence[int]) -> Iterator[Area]:
    """Yield areas of the elements at some rising places along an axis, X or Y.

    lines: the rows (X) or columns (Y) that they are in.
    """
    yield from areas_of(lines, places) if axis == "X" else areas_of(places, lines)


def equal_areas(numbers: Numbers) -> Iterator[tuple[Area, int]]:
    """Yield areas that cover a grid, each with the number that all its elements have.

    numbers: (rows, columns) of each element. Rows with a number in the same columns come together.
    """
    rows, columns = _equal_lines(numbers), _equal_lines(numbers.T)
    kinds = numbers[np.ix_([lines[0] for lines in rows], [lines[0] for lines in columns])]
    for number in dict.fromkeys(kinds.ravel().tolist()):
        is_there = kinds == number
        for kinds_of_row in _equal_lines(is_there):
            kinds_of_column = np.flatnonzero(is_there[kinds_of_row[0]])
            there = sorted(row for kind in kinds_of_row for row in rows[kind])
            across = sorted(column for kind in kinds_of_column for column in columns[kind])
            for area in areas_of(there, across):
                yield area, number


def _equal_lines(numbers: Numbers) -> list[list[int]]:
    """Return the rows of an array in groups of equal ones, by their first ones."""
    groups: dict[bytes, list[int]] = {}
    for place, row in enumerate(numbers):
        groups.setdefault(row.tobytes(), []).append(place)
    return list(groups.values())
