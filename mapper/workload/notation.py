"""The concise notation of Einsums: `"O[p, k] = I[H: 2*p + r, c] * W[r, c, k]"`.

Ranks begin with a capital letter, rank variables with a small one. A variable alone also names
its rank: `m` means rank `M`, `n0` rank `N0`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from tilewright.arch.errors import Where
from tilewright.mapper.workload.einsum import Affine, Combine, Einsum, TensorAccess
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.formulas.formula import Formula, parse_formula

_ACCESS = re.compile(r"\s*\b([A-Za-z_]\w*)\s*\[([^\[\]]*)\]\s*")
_NUMBERED = re.compile(r"\b_\d+\b(?!\s*\[)")  # names that stand for inputs in a formula
_PRODUCT = re.compile(r"_\d+( \* _\d+)*")
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
    multiplied, "+" if they are added. `formula`: what else is done with them, None if nothing.
    """

    accesses: tuple[ParsedAccess, ...]
    combine: Combine = "*"
    formula: Formula | None = None


def parse_einsum(text: str, where: Where | None = None) -> ParsedEinsum:
    """Parse an Einsum such as `Z[m, n] = A[m, k] * B[k, n]`.

    Inputs are multiplied or added, or stand in a formula with + - * / and functions (formula.py);
    a tensor may stand there several times with the same indices. Raises WorkloadError, at `where`,
    for any other text: no single `=`, several outputs, a bad name, an index that is no sum of rank
    variables, or a formula that does not say how it is reduced.
    """
    output_side, equals, input_side = text.partition("=")
    if not equals or "=" in input_side or len(text) > _LONGEST:
        raise _bad("an Einsum is `output = product of inputs`", text, where)
    output = _ACCESS.fullmatch(output_side)
    if output is None:
        raise _bad("an Einsum has one tensor with its indices on the left", text, where)
    written = ParsedAccess(output[1], _indices(output[1], output[2], where))
    inputs, skeleton = _inputs(input_side, where)
    if not inputs:
        raise _bad(f"no tensor with its indices in {input_side.strip()!r}", text, where)
    plain, numbers = skeleton.replace(" ", ""), [f"_{n}" for n in range(len(inputs))]
    if plain == "*".join(numbers):
        return ParsedEinsum((written, *inputs))
    if plain == "+".join(numbers):
        return ParsedEinsum((written, *inputs), "+")
    formula = parse_formula(skeleton, text, where)
    formula = _reduced(written, inputs, formula, text, where)
    return ParsedEinsum((written, *inputs), "*", formula)


def _inputs(side: str, where: Where | None) -> tuple[list[ParsedAccess], str]:
    """Return the different inputs, and the text with `_0`, `_1`, … in their places.

    WorkloadError if such a name stands there already.
    """
    inputs: list[ParsedAccess] = []
    if _NUMBERED.search(side):
        raise _bad("a name of a tensor needs its indices", side.strip(), where)

    def numbered(match: re.Match[str]) -> str:
        access = ParsedAccess(match[1], _indices(match[1], match[2], where))
        if access not in inputs:
            inputs.append(access)
        return f" _{inputs.index(access)} "

    return inputs, _ACCESS.sub(numbered, side)


def _reduced(
    output: ParsedAccess,
    inputs: list[ParsedAccess],
    formula: Formula,
    text: str,
    where: Where | None,
) -> Formula:
    """Return a formula that says how it is joined over the variables that the output lacks.

    A product of tensors is summed, as in any Einsum; other formulas have to say it themselves, else
    WorkloadError.
    """
    kept = {name for _, form in output.projection for name, _ in form.terms}
    read = {name for access in inputs for _, form in access.projection for name, _ in form.terms}
    if formula.reduction is None and read - kept:
        if _PRODUCT.fullmatch(formula.text):
            return replace(formula, reduction="+")
        raise WorkloadError(
            f"this formula does not say how it is joined over {', '.join(sorted(read - kept))}",
            where=where,
            value=text,
            instead="sum(…) or max(…) around the whole formula",
        )
    return formula


def _indices(tensor: str, text: str, where: Where | None) -> tuple[tuple[str, Affine], ...]:
    if not text.strip():
        return ()  # a scalar
    entries: dict[str, str] = {}
    for index_text in text.split(","):
        rank, colon, expression = index_text.rpartition(":")
        name = rank.strip() if colon else rank_of_variable(expression.strip(), tensor, where)
        if name in entries:
            again = f"{name}{1 + sum(rank.startswith(name) for rank in entries)}"
            raise WorkloadError(
                f"rank {name} stands twice in {tensor}",
                where=where,
                value=text,
                instead=f"{again}: {expression.strip()} the second time, a rank of another name",
            )
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
            instead=f"H: {name}, where H is the rank" if _is_expression(name) else "a name like m",
        )
    return name.upper()


def _is_expression(index: str) -> bool:
    return "+" in index or "*" in index or index.isdigit()


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


def einsum_text(einsum: Einsum) -> str:
    """Return an Einsum in the concise notation, for example `Z[m, n] = A[m, k] * B[k, n]`.

    Indices have the constants of the file, where variables need not begin at 0.
    """
    output_text = " * ".join(_access(in_file(access, einsum)) for access in einsum.outputs)
    right = [_access(in_file(access, einsum)) for access in einsum.inputs]
    if einsum.formula is not None:
        return f"{output_text} = {einsum.formula.written(right)}"
    return f"{output_text} = {f' {einsum.combine} '.join(right)}"


def in_file(access: TensorAccess, einsum: Einsum) -> TensorAccess:
    """Return the access with the constants of the file, where variables need not begin at 0."""
    projection = tuple(
        (rank, replace(form, constant=form.written(einsum.starts)))
        for rank, form in access.projection
    )
    return replace(access, projection=projection)


def _access(access: TensorAccess) -> str:
    ranks = (
        affine_text(form)
        if affine_text(form).upper() == rank and form.terms
        else f"{rank}: {affine_text(form)}"
        for rank, form in access.projection
    )
    return f"{access.values_of}[{', '.join(ranks)}]"


def affine_text(form: Affine) -> str:
    """Return an affine form as an index of the concise notation, such as `2*p + r - 1`."""
    text = ""
    for name, factor in form.terms:
        size = name if abs(factor) == 1 else f"{abs(factor)}*{name}"
        text += _signed(size, factor < 0, first=not text)
    if form.constant or not text:
        text += _signed(str(abs(form.constant)), form.constant < 0, first=not text)
    return text


def _signed(size: str, negative: bool, *, first: bool) -> str:
    if first:
        return f"-{size}" if negative else size
    return f" {'-' if negative else '+'} {size}"
