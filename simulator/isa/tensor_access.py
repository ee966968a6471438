"""Tensor access expressions and their lowering to the stride form (wafer.md §6.2).

    |i, j|{5, 5} -> A[2*i + j]

Induction variables, their lengths (outermost first), a buffer, and one affine expression of the
variables per dimension of the buffer. Bounds are not checked here: a descriptor that leaves its
buffer is refused where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tilewright.simulator.isa.dsd import Buffer
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.isa.machine_errors import ProgramError

MAX_TEXT: Final = 1000
MAX_NESTING: Final = 16
LARGEST: Final = 1 << 31
MAX_VARIABLES: Final = 4
FORM: Final = re.compile(r"\s*\|(.*?)\|\s*\{(.*?)\}\s*->\s*([A-Za-z_]\w*)\s*\[(.*)\]\s*")
NAME: Final = re.compile(r"[A-Za-z_]\w*")
LENGTH: Final = re.compile(r"\d{1,9}")
TOKEN: Final = re.compile(r"\s*(\d+|[A-Za-z_]\w*|[-+*()])")


@dataclass(frozen=True, slots=True)
class AccessExpression:
    """A parsed tensor access expression of CSL, such as `|i, j|{4, 2} -> A[i, 2*j]`.

    `buffer`: the array (A). `variables`: the induction variables, outermost first (i, j).
    `lengths`: how many values each one takes (4, 2). `expressions`: the affine index of each
    dimension of the array (i and 2*j).
    """

    buffer: str
    variables: tuple[str, ...]
    lengths: tuple[int, ...]
    expressions: tuple[Index, ...]

    def loops(self, shape: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
        """Return (loops, offset) of the access in a row-major array of this shape.

        `loops` has an (extent, linear coefficient) pair per variable, in elements; `offset` is the
        element at which all variables are 0. For A[i, 2*j] with shape (4, 6), i has the coefficient
        6 and j has 2. Raises ProgramError if the array has another number of dimensions.
        """
        if len(shape) != len(self.expressions):
            raise ProgramError(
                f"tensor access of {self.buffer}: one expression per dimension of the buffer",
                value=len(self.expressions),
                instead=f"{len(shape)} expressions",
            )
        linear = Index()
        for size, expression in zip(shape, self.expressions, strict=True):
            linear = linear * size + expression
        factors = dict(linear.terms)
        loops = [
            (length, factors.get(name, 0))
            for name, length in zip(self.variables, self.lengths, strict=True)
        ]
        return loops, linear.constant


def parse_access(text: str) -> AccessExpression:
    """Parse the text of a tensor access expression of CSL. Raises ProgramError if it is malformed.

    `|i, j|{4, 2} -> A[i, 2*j]` has the variables i of length 4 and j of length 2, the buffer A
    and the expressions i and 2*j.
    """
    match = FORM.fullmatch(text) if len(text) <= MAX_TEXT else None
    if match is None:
        raise ProgramError(
            "this is no tensor access expression", value=text, instead="|i, j|{4, 2} -> A[i, 2*j]"
        )
    variables = tuple(name.strip() for name in match[1].split(","))
    lengths = tuple(length.strip() for length in match[2].split(","))
    if len(variables) != len(lengths) or len(variables) > MAX_VARIABLES:
        raise ProgramError(
            f"tensor access of {match[3]}: one to four variables and a length for each",
            value=(len(variables), len(lengths)),
        )
    if not _are_different_names(variables) or not all(map(LENGTH.fullmatch, lengths)):
        raise ProgramError(
            f"tensor access of {match[3]}: variables are different names, lengths whole numbers",
            value=text,
        )
    expressions = tuple(_ExpressionParser(term, variables).parse() for term in match[4].split(","))
    return AccessExpression(match[3], variables, tuple(map(int, lengths)), expressions)


def lowered_access(
    place: str, text: str, buffers: Sequence[Buffer]
) -> tuple[str, list[tuple[int, int]], int]:
    """Return (buffer, loops, offset) of a tensor access expression over one of some buffers.

    `place`: the code, for messages; loops and offset are as of `AccessExpression.loops`. Raises
    ProgramError for a malformed expression or an unknown buffer.
    """
    access = parse_access(text)
    buffer = next((b for b in buffers if b.name == access.buffer), None)
    if buffer is None:
        names = ", ".join(b.name for b in buffers) or "(none)"
        raise ProgramError(
            f"{place}: tensor access of an unknown buffer",
            value=access.buffer,
            instead=f"one of {names}",
        )
    return buffer.name, *access.loops(buffer.shape)


def check_one_variable(place: str, loops: Sequence[tuple[int, int]], text: str) -> None:
    """Raise ProgramError if the access of a mem1d has more than one induction variable.

    place: names the descriptor; loops: of the access; text: of its expression.
    """
    if len(loops) != 1:
        raise ProgramError(
            f"{place}: mem1d has one induction variable", value=text, instead="mem4d"
        )


def check_alone(place: str, given: Sequence[str]) -> None:
    """Raise ProgramError if a descriptor has a tensor access and also what the access says already.

    place: names the descriptor; given: names of the properties beside the access, such as extent.
    """
    if given:
        raise ProgramError(
            f"{place}: given beside tensor_access", value=", ".join(given), instead="one of the two"
        )


def _are_different_names(variables: Sequence[str]) -> bool:
    return all(map(NAME.fullmatch, variables)) and len(set(variables)) == len(variables)


class _ExpressionParser:
    """A recursive-descent parser of affine expressions: + - * and parentheses."""

    def __init__(self, text: str, variables: tuple[str, ...]) -> None:
        self.text = text.strip()
        self.variables = variables
        self.tokens = TOKEN.findall(self.text)
        self.next = 0
        if "".join(self.tokens) != re.sub(r"\s", "", self.text) or not self.tokens:
            raise self.fail("this is no affine expression")

    def fail(self, problem: str) -> ProgramError:
        return ProgramError(
            f"tensor access: {problem}",
            value=self.text,
            instead="sums of whole numbers times variables, as in 2*i + j - 1",
        )

    def parse(self) -> Index:
        index = self.sum(0)
        if self.next < len(self.tokens):
            raise self.fail("the expression goes on where it should end")
        largest = max(abs(index.constant), *(abs(factor) for _, factor in index.terms), 0)
        if largest > LARGEST:
            raise self.fail("a number is too large")
        return index

    def sum(self, depth: int) -> Index:
        if depth > MAX_NESTING:
            raise self.fail("too many parentheses inside each other")
        total = self.product(depth)
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            total = total + self.product(depth) * sign
        return total

    def product(self, depth: int) -> Index:
        product = self.factor(depth)
        while self.peek() == "*":
            self.take()
            factor = self.factor(depth)
            if product.terms and factor.terms:
                raise self.fail("a product of two variables is not affine")
            product = product * factor.constant if product.terms else factor * product.constant
            if abs(product.constant) > LARGEST:
                raise self.fail("a number is too large")
        return product

    def factor(self, depth: int) -> Index:
        word = self.take()
        if word == "-":
            if depth > MAX_NESTING:
                raise self.fail("too many signs in a row")
            return self.factor(depth + 1) * -1
        if word == "(":
            inner = self.sum(depth + 1)
            if self.take() != ")":
                raise self.fail("a parenthesis is not closed")
            return inner
        if word.isdigit() and len(word) < 10:
            return Index(int(word))
        if word in self.variables:
            return Index(0, ((word, 1),))
        raise self.fail(f"unknown name or number {word[:20]!r}")

    def peek(self) -> str:
        return self.tokens[self.next] if self.next < len(self.tokens) else ""

    def take(self) -> str:
        word = self.peek()
        self.next += 1
        return word
