"""Print a workload back as a file that reads to the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from tilewright.arch.spec.printing import dump_yaml
from tilewright.mapper.workload.einsum import Affine, Einsum, TensorAccess
from tilewright.mapper.workload.workload import Workload


def dump_workload(workload: Workload) -> str:
    """Return YAML text that `load_workload` reads back to an equal workload.

    Templates, sizes of ranks, set expressions and renames are written out as values; the instances
    of the workload are multiplied into its Einsums.
    """
    accesses = {access.values_of: access for e in workload.einsums for access in e.accesses}
    block: dict[str, object] = {
        "bits_per_value": {name: _width(access.bits_per_value) for name, access in accesses.items()}
    }
    for key, mark in (("persistent_tensors", "persistent"), ("integers", "integer")):
        marked = [name for name, access in accesses.items() if getattr(access, mark)]
        if marked:
            block[key] = _union(marked)
    block["iteration_space_shape"] = _bounds(workload)
    block["einsums"] = [_einsum(einsum) for einsum in workload.einsums]
    return dump_yaml({"renames": _renames(workload), "workload": block})


def einsum_text(einsum: Einsum) -> str:
    """Return an Einsum in the concise notation, for example `Z[m, n] = A[m, k] * B[k, n]`.

    Indices have the constants of the file, where variables need not begin at 0.
    """
    output_text = " * ".join(_access(_in_file(access, einsum)) for access in einsum.outputs)
    right = [_access(_in_file(access, einsum)) for access in einsum.inputs]
    if einsum.formula is not None:
        return f"{output_text} = {einsum.formula.written(right)}"
    return f"{output_text} = {f' {einsum.combine} '.join(right)}"


def _in_file(access: TensorAccess, einsum: Einsum) -> TensorAccess:
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


def _einsum(einsum: Einsum) -> dict[str, object]:
    """Return the fields of an Einsum in the file."""
    fields = {**_accesses(einsum), **_padding(einsum)}
    if einsum.is_copy:
        fields["is_copy_operation"] = True
    if einsum.n_instances != 1:
        fields["n_instances"] = einsum.n_instances
    if einsum.renames:
        fields["renames"] = {
            name: _union(dict.fromkeys(a.values_of for a in einsum.accesses if a.tensor in tensors))
            for name, tensors in einsum.renames.items()
        }
    return fields


def _padding(einsum: Einsum) -> dict[str, object]:
    """Return the sizes of the padded ranks, and how far indices reach beyond either end."""
    sizes: dict[str, int] = {}
    beyond: dict[str, int] = {}
    for access in einsum.inputs:
        padded = dict(access.padded)
        for rank, form in access.projection:
            if rank in padded:
                low, high = form.ends(einsum.bounds)
                sizes[rank] = padded[rank]
                beyond[rank] = max(beyond.get(rank, 0), -low, high - padded[rank] + 1)
    return {"rank_sizes": sizes, "pad": beyond} if sizes else {}


def _accesses(einsum: Einsum) -> dict[str, object]:
    """Return the concise form if it keeps the order of the tensors, else the long one."""
    if einsum.accesses[0].output and len(einsum.outputs) == 1:
        fields: dict[str, object] = {"einsum": einsum_text(einsum)}
        if einsum.name != einsum.accesses[0].tensor:
            fields["name"] = einsum.name
        return fields
    long = [_long(_in_file(access, einsum)) for access in einsum.accesses]
    return {"name": einsum.name, "tensor_accesses": long}


def _long(access: TensorAccess) -> dict[str, object]:
    projection = {rank: affine_text(form) for rank, form in access.projection}
    fields: dict[str, object] = {"name": access.values_of, "projection": projection}
    return {**fields, "output": True} if access.output else fields


def _bounds(workload: Workload) -> dict[str, str]:
    """Return the ranges of all rank variables; Einsums agree on them."""
    bounds = {
        name: (e.starts.get(name, 0), bound)
        for e in workload.einsums
        for name, bound in e.bounds.items()
    }
    return {name: f"{start} <= {name} < {start + bound}" for name, (start, bound) in bounds.items()}


def _renames(workload: Workload) -> dict[str, object]:
    """Return the section `renames`: an empty default, and the renames of rank variables.

    The empty default replaces the built-in one; renames of tensors are written in the Einsums.
    """
    entries: list[dict[str, object]] = [{"name": "default", "tensor_accesses": []}]
    variables = {name for einsum in workload.einsums for name in einsum.bounds}
    for einsum in workload.einsums:
        sets: Mapping[str, frozenset[str]] = workload.scope(einsum).rank_sets
        renames = {
            name: _union(v for v in einsum.bounds if v in members)
            for name, members in sets.items()
            if name not in variables
        }
        if renames:
            entries.append({"name": einsum.name, "rank_variables": renames})
    return {"einsums": entries}


def _union(names: Iterable[str]) -> str:
    return " | ".join(names) or "Nothing"


def _width(bits: Fraction) -> int | float | str:
    if bits.denominator == 1:
        return bits.numerator
    return float(bits) if Fraction(float(bits)) == bits else f"{bits.numerator}/{bits.denominator}"
