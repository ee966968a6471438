"""Print a workload back as a file that reads to the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from tilewright.arch.spec.printing import dump_yaml
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.notation import affine_text, einsum_text, in_file
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
    long = [_long(in_file(access, einsum)) for access in einsum.accesses]
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
