"""The concise notation of Einsums: `"O[p, k] = I[H: 2*p + r, c] * W[r, c, k]"`.

Ranks begin with a capital letter, rank variables with a small one. A variable alone also names
its rank: `m` means rank `M`, `n0` rank `N0`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import NamedTuple

from tilewright.arch.errors import Where
from tilewright.mapper.workload.einsum import Affine, Combine
from tilewright.mapper.workload.errors import WorkloadError

_ACCESS = re.compile(r"\s*([A-Za-z_]\w*)\s*\[([^\[\]]*)\]\s*")
_EXAMPLE = 'write it like "Z[m, n] = A[m, k] * B[k, n]"'
_LONGEST = 2000


class LinearForm(NamedTuple):
    """A sum of rank variables with whole factors, plus a whole constant, while it is parsed.

    `factors`: rank variable to factor; `constant`: what is added.
    """

    factors: dict[str, int]
    constant: int


@dataclass(frozen=True, slots=True)
class ParsedAccess:
    """A tensor of an Einsum as it is written, before sizes are known.

    `tensor`: its name; `projection`: pairs (rank, affine form of its index), in the order written.
    """

    tensor: str
    projection: tuple[tuple[str, Affine], ...]


@dataclass(frozen=True, slots=True)
class ParsedEinsum:
    """An Einsum in the concise notation, parsed.

    `accesses`: its tensors with their indices, the output first. `combine`: "*" if the inputs are
    multiplied, "+" if they are added.
    """

    accesses: tuple[ParsedAccess, ...]
    combine: Combine = "*"


def parse_einsum(text: str, where: Where | None = None) -> ParsedEinsum:
    """Parse an Einsum such as `Z[m, n] = A[m, k] * B[k, n]`.

    Raises WorkloadError, at `where`, for any other text: no single `=`, several outputs, a mixture
    of * and +, a bad name, or an index that is no sum of rank variables.
    """
    output_side, equals, input_side = text.partition("=")
    if not equals or "=" in input_side or len(text) > _LONGEST:
        raise _bad("an Einsum is `output = product of inputs`", text, where)
    output, _ = _accesses(output_side, text, where)
    if len(output) != 1:
        raise _bad("an Einsum has one tensor on the left", text, where)
    inputs, signs = _accesses(input_side, text, where)
    if len(set(signs)) > 1:
        raise _bad("all tensors are multiplied, or all are added", text, where)
    return ParsedEinsum((*output, *inputs), "+" if "+" in signs else "*")


def _accesses(side: str, text: str, where: Where | None) -> tuple[list[ParsedAccess], list[str]]:
    accesses: list[ParsedAccess] = []
    signs: list[str] = []
    position = 0
    while True:
        match = _ACCESS.match(side, position)
        if match is None:
            raise _bad(f"no tensor with its indices at {side[position:].strip()!r}", text, where)
        accesses.append(ParsedAccess(match[1], _indices(match[1], match[2], where)))
        position = match.end()
        if position == len(side):
            return accesses, signs
        if side[position] not in "*+":
            raise _bad(f"only * or + may join tensors, not {side[position]!r}", text, where)
        signs.append(side[position])
        position += 1


def _indices(tensor: str, text: str, where: Where | None) -> tuple[tuple[str, Affine], ...]:
    if not text.strip():
        raise _no_rank(tensor, where)
    entries: dict[str, str] = {}
    for index_text in text.split(","):
        rank, colon, expression = index_text.rpartition(":")
        name = rank.strip() if colon else rank_of_variable(expression.strip(), tensor, where)
        if name in entries:
            raise _bad(f"rank {name} stands twice in {tensor}", text, where)
        entries[name] = expression
    return parse_projection(tensor, entries, where)


def parse_projection(
    tensor: str, entries: dict[str, str], where: Where | None
) -> tuple[tuple[str, Affine], ...]:
    """Parse the indices of a tensor: rank name to the text of its index.

    Result: pairs (rank, affine form of rank variables), in the given order. Raises WorkloadError,
    at `where`, if there is no rank, a rank begins with a small letter, or an index is not affine.
    """
    if not entries:
        raise _no_rank(tensor, where)
    for rank in entries:
        if not re.fullmatch(r"[A-Z]\w*", rank):
            raise WorkloadError(
                f"tensor {tensor}: a rank begins with a capital letter",
                where=where,
                value=rank,
                instead=rank[:1].upper() + rank[1:] if rank.isidentifier() else "a name like M",
            )
    return tuple((rank, parse_affine(text, where)) for rank, text in entries.items())


def rank_of_variable(name: str, tensor: str, where: Where | None = None) -> str:
    """Return the rank that a rank variable alone stands for: `N0` for `n0`.

    Raises WorkloadError, at `where`, unless the name begins with a small letter and has only
    letters, digits and underscores. `tensor`: its name, for the message.
    """
    if not re.fullmatch(r"[a-z]\w*", name):
        raise WorkloadError(
            f"tensor {tensor}: a rank variable (small first letter) or `RANK: expression`",
            where=where,
            value=name,
            instead=f"H: {name}" if "+" in name or "*" in name else "a name like m",
        )
    return name.upper()


def parse_affine(text: str, where: Where | None = None) -> Affine:
    """Parse a sum of rank variables with whole factors, plus a whole constant: `2*p + r + 1`.

    Raises WorkloadError, at `where`, for any other text.
    """
    if len(text) <= _LONGEST:
        try:
            tree = ast.parse(text.strip(), mode="eval").body
            terms, constant = affine_terms(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
        else:
            return Affine(
                tuple((name, factor) for name, factor in terms.items() if factor), constant
            )
    raise WorkloadError(
        "an index must be a sum of rank variables with whole factors",
        where=where,
        value=text,
        instead="for example p + r or 2*p + 3*r + 1",
    )


def affine_terms(node: ast.expr) -> LinearForm:
    """Return factor per rank variable, and the constant, of a Python expression tree.

    Raises ValueError if it is not a sum of variables with whole factors and a whole constant.
    """
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return LinearForm({}, value)
        case ast.Name(id=name) if name[0].islower() or name[0] == "_":
            return LinearForm({name: 1}, 0)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _scaled(affine_terms(inner), -1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(affine_terms(left), affine_terms(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _sum(affine_terms(left), _scaled(affine_terms(right), -1))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(affine_terms(left), affine_terms(right))
    raise ValueError("not an affine form")


def _product(left: LinearForm, right: LinearForm) -> LinearForm:
    if not left.factors:
        return _scaled(right, left.constant)
    if right.factors:
        raise ValueError("a product of variables")
    return _scaled(left, right.constant)


def _scaled(form: LinearForm, factor: int) -> LinearForm:
    factors = {name: value * factor for name, value in form.factors.items()}
    return LinearForm(factors, form.constant * factor)


def _sum(left: LinearForm, right: LinearForm) -> LinearForm:
    factors = dict(left.factors)
    for name, value in right.factors.items():
        factors[name] = factors.get(name, 0) + value
    return LinearForm(factors, left.constant + right.constant)


def _no_rank(tensor: str, where: Where | None) -> WorkloadError:
    return WorkloadError(
        f"tensor {tensor} has no rank",
        where=where,
        instead=f"give it a rank of size 1: {tensor}[one] with rank_sizes {{ONE: 1}}",
    )


def _bad(complaint: str, text: str, where: Where | None) -> WorkloadError:
    return WorkloadError(complaint, where=where, value=text, instead=_EXAMPLE)
