"""Numbers that remember what they were computed from, so that one result serves for other inputs.

A computation with them gives formulas, and the conditions under which other inputs would have taken
the same branches: under these, the formulas give its result for them, too. Formulas are linear in
the inputs and in products, quotients and remainders that are computed first. What is not named here
(a hash, text, an index, a float) raises TypeError: nothing gets lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import floordiv, mod, mul
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Terms = tuple[tuple[int, int], ...]
"""(slot, factor), by slots: the numbers, then what was computed from them."""
Form = tuple[int, Terms]
"""A constant and the terms."""
BELOW, ZERO = range(2)
"""Questions about a form: whether it is below 0, or 0."""
OPERATIONS: Final = (mul, floordiv, mod)
MOST: Final = 1 << 40
MOST_FACTORS: Final = 1 << 20
"""Numbers, and sums of a form's factors, below these keep every sum inside 64 bits."""


class TracedNumber:
    """Behave as an integer, and remember the formula by which it follows from some inputs.

    Arithmetic with it gives traced numbers; a comparison is decided by the value and noted as a
    condition, under which the formulas hold for other inputs (engines.md §9). `form` is (constant,
    ((slot, factor), ...)): a linear sum of inputs and earlier products, quotients and remainders.
    `value` is the integer. Hashing, printing and use as an index raise TypeError.
    """

    __slots__ = ("form", "trace", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: NumberTrace, form: Form, value: int) -> None:
        self.trace = trace
        self.form = form
        self.value = value

    def _plus(self, other: object, factor: int, own_factor: int = 1) -> Any:
        """Return own_factor * self + factor * other; NotImplemented if `other` is no number."""
        if isinstance(other, TracedNumber):
            constant, terms = other.form
            value = own_factor * self.value + factor * other.value
        elif isinstance(other, int):
            constant, terms, value = int(other), (), own_factor * self.value + factor * other
        else:
            return NotImplemented
        factors = {slot: own_factor * n for slot, n in self.form[1]}
        for slot, n in terms:
            factors[slot] = factors.get(slot, 0) + factor * n
        sum_terms = tuple((slot, n) for slot, n in sorted(factors.items()) if n)
        sum_constant = own_factor * self.form[0] + factor * constant
        return (
            TracedNumber(self.trace, (sum_constant, sum_terms), value)
            if sum_terms
            else sum_constant
        )

    def __add__(self, other: object) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: object) -> Any:
        return self._plus(other, 1, -1)

    def __neg__(self) -> Any:
        return self._plus(0, 1, -1)

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __mul__(self, other: object) -> Any:
        if isinstance(other, int):
            return self._plus(0, 1, int(other))
        return self._step(0, self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Any:
        return self if other == 1 else self._step(1, self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return self._step(1, other, self)

    def __mod__(self, other: object) -> Any:
        return self._step(2, self, other)

    def __rmod__(self, other: object) -> Any:
        return self._step(2, other, self)

    def _step(self, kind: int, left: object, right: object) -> Any:
        if not isinstance(left, TracedNumber | int) or not isinstance(right, TracedNumber | int):
            return NotImplemented
        return self.trace.step(kind, left, right)

    def __lt__(self, other: object) -> bool:
        return self._holds(BELOW, self._plus(other, -1))

    def __ge__(self, other: object) -> bool:
        return not self < other

    def __gt__(self, other: object) -> bool:
        return self._holds(BELOW, self._plus(other, 1, -1))

    def __le__(self, other: object) -> bool:
        return not self > other

    def __eq__(self, other: object) -> bool:
        return False if other is None else self._holds(ZERO, self._plus(other, -1))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    def _holds(self, kind: int, difference: TracedNumber | int) -> bool:
        if difference is NotImplemented:
            raise TypeError("a traced number is compared with integers only")
        if isinstance(difference, TracedNumber):
            return self.trace.decide(kind, difference)
        return difference < 0 if kind == BELOW else difference == 0

    def __format__(self, _: str) -> NoReturn:
        raise TypeError("a traced number has no text")

    __str__ = __repr__ = lambda self: self.__format__("")


def form_of(number: TracedNumber | int) -> Form:
    """Return the formula of a number: (constant, ((slot, factor), ...)); of an integer (n, ()).

    A slot is the number of an input or of a product, quotient or remainder behind the inputs.
    """
    return number.form if isinstance(number, TracedNumber) else (int(number), ())


def value_of(number: TracedNumber | int) -> int:
    """Return a number as a plain integer.

    A traced number (an integer with the formula by which it follows from inputs) gives its value.
    """
    return number.value if isinstance(number, TracedNumber) else number


class NumberTrace:
    """Trace a computation on some integers: what is computed from them, under which conditions.

    `numbers` are the inputs as traced numbers, which behave as integers and remember their
    formulas. After the computation `guide` gives the conditions under which the formulas hold for
    other inputs (engines.md §9).
    """

    def __init__(self, values: Sequence[int]) -> None:
        self._inputs = len(values)
        self._steps: dict[tuple[int, Form, Form], TracedNumber] = {}
        self._most: dict[Terms, int] = {}
        """Forms that are below 0, by their terms."""
        self._not_zero: dict[Form, None] = {}
        self.numbers = [TracedNumber(self, (0, ((n, 1),)), v) for n, v in enumerate(values)]

    def step(self, kind: int, left: TracedNumber | int, right: TracedNumber | int) -> TracedNumber:
        """Return left * right (kind 0), left // right (1) or left % right (2) as a traced number.

        The result is no linear formula, so it becomes a slot of its own, which later formulas use;
        the same step gives the same slot again. Raises ZeroDivisionError.
        """
        key = kind, form_of(left), form_of(right)
        if key not in self._steps:
            slot = self._inputs + len(self._steps)
            value = OPERATIONS[kind](value_of(left), value_of(right))
            self._steps[key] = TracedNumber(self, (0, ((slot, 1),)), value)
        return self._steps[key]

    def decide(self, kind: int, number: TracedNumber) -> bool:
        """Return whether a number is below 0 (kind BELOW) or equal to 0 (kind ZERO), by its value.

        The answer becomes a condition: other inputs follow the same formulas only if they give the
        same answer.
        """
        form = number.form
        if kind == BELOW:
            holds = number.value < 0
            self._below(form if holds else _opposite(form))
            return holds
        holds = number.value == 0
        if holds:  # neither above nor below
            self._below((form[0] - 1, form[1]))
            self._below(_opposite(form))
        else:
            self._not_zero[form] = None
        return holds

    def _below(self, form: Form) -> None:
        """Note the condition that a form is below 0; the strictest of equal forms is kept.

        Equal are forms that differ in their constant only.
        """
        constant, terms = form
        self._most[terms] = max(constant, self._most.get(terms, constant))

    def guide(self) -> FamilyConditions:
        """Return the conditions under which other inputs give results by the same formulas.

        Raises TypeError if a formula has a constant from 2^40 or factors that sum to 2^20 or more.
        """
        width = 1 + self._inputs + len(self._steps)
        below = [(constant, terms) for terms, constant in self._most.items()]
        matrices = matrix_of(below, width), matrix_of(list(self._not_zero), width)
        return FamilyConditions(tuple(self._steps), width, *matrices)


def _opposite(form: Form) -> Form:
    """Return the form -form - 1, which is below 0 exactly where the given form is not."""
    return -form[0] - 1, tuple((slot, -n) for slot, n in form[1])


def matrix_of(forms: Sequence[Form], width: int) -> Ints:
    """Return linear formulas as the rows of a matrix (formulas, width) of integers.

    Column 0 is the constant, column 1 + slot the factor of a slot, so that the matrix times (1,
    values of the slots) gives the results. Raises TypeError for a constant from 2^40 or factors
    that sum to 2^20 or more: sums could leave 64 bits.
    """
    matrix = np.zeros((len(forms), width), dtype=np.int64)
    for row, (constant, terms) in zip(matrix, forms, strict=True):
        if abs(constant) >= MOST or sum(abs(n) for _, n in terms) >= MOST_FACTORS:
            raise TypeError("a form is too large")
        row[0] = constant
        for slot, factor in terms:
            row[1 + slot] = factor
    return matrix


@dataclass(frozen=True, slots=True)
class FamilyConditions:
    """Hold the conditions under which the formulas of a traced computation hold for other inputs.

    - `steps`: (kind, left formula, right formula) of the products, quotients and remainders to
      compute, in order.
    - `width`: 1 + number of inputs + number of steps.
    - `below`: matrix (conditions, width); each row times the slots must be below 0.
    - `not_zero`: matrix (conditions, width); each row times the slots must differ from 0.
    """

    steps: tuple[tuple[int, Form, Form], ...]
    width: int
    below: Ints
    not_zero: Ints

    def slots_for(self, numbers: Sequence[int]) -> Ints | None:
        """Return the array (1, inputs, results of the steps) for other inputs, or None.

        None: the inputs do not meet the conditions, so the formulas do not hold for them; or a step
        divides by 0, or a number is 2^40 or larger.
        """
        slots = [1, *numbers]
        for kind, left_form, right_form in self.steps:
            left, right = left_form[0], right_form[0]
            for slot, factor in left_form[1]:
                left += slots[1 + slot] * factor
            for slot, factor in right_form[1]:
                right += slots[1 + slot] * factor
            if kind and right == 0:
                return None
            slots.append(OPERATIONS[kind](left, right))
        if max(slots) >= MOST or min(slots) <= -MOST:
            return None
        values = np.array(slots, dtype=np.int64)
        return values if self._hold(values) else None

    def _hold(self, values: Ints) -> bool:
        """Return whether all conditions hold for some values of the slots."""
        if len(self.below) and max((self.below @ values).tolist()) >= 0:
            return False
        return not len(self.not_zero) or all((self.not_zero @ values).tolist())


class Formulas:
    """Hold a list of integers, some with formulas, to be filled in for other inputs.

    So the tables of a code give those of a code with other numbers (engines.md §9). numbers: plain
    integers and traced numbers (with formulas); guide: the conditions of the same trace, which fix
    the order of inputs and steps.
    """

    def __init__(self, numbers: Sequence[TracedNumber | int], guide: FamilyConditions) -> None:
        self._base = np.array([value_of(n) for n in numbers], dtype=np.int64)
        places = [place for place, n in enumerate(numbers) if isinstance(n, TracedNumber)]
        self._places = np.array(places, dtype=np.int64)
        self._matrix = matrix_of([form_of(numbers[place]) for place in places], guide.width)

    def filled(self, slots: Ints, sizes: Sequence[int]) -> list[Ints]:
        """Return the integers for other inputs, cut into arrays of the given sizes.

        slots: what `FamilyConditions.slots_for` returned for these inputs. sizes: numbers of
        integers, whose sum is at most the length of the list.
        """
        filled = self._base.copy()
        filled[self._places] = self._matrix @ slots
        ends = (0, *accumulate(sizes))
        return [filled[begin:end] for begin, end in pairwise(ends)]
