"""The effect of a constant in an index on the size of tiles (docs/conventions.md §12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tilewright.mapper.model.traffic.padded_spans import zeros_counted
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import WorkloadError
from tilewright.mapper.workload.workload import Workload

EinsumRule = Callable[[Einsum], Einsum]


def offsets_move(einsum: Einsum) -> Einsum:
    """Return the Einsum unchanged: a constant in an index moves a tile and adds no size.

    Rule of the default conventions.
    """
    return einsum


def offsets_add(einsum: Einsum) -> Einsum:
    """Return the Einsum with tiles that begin at position 0, as accelforge 1.0.467 counts them.

    A constant in an index then makes tiles larger: a tile of `m + 2` has two positions more than a
    tile of `m`. Zeros beside a padded rank count as values. WorkloadError for a tensor without a
    rank.
    """
    for access in einsum.accesses:
        if not access.projection:
            raise WorkloadError(
                f"tensor {access.tensor} has no rank, which accelforge refuses",
                value=einsum.name,
                instead=f"{access.tensor}[one] with rank_sizes {{ONE: 1}}",
            )
    written = [form.written(einsum.starts) for a in einsum.accesses for _, form in a.projection]
    einsum = zeros_counted(einsum)
    if max(written, default=0) <= 0:
        return einsum
    accesses = tuple(_grown(access, einsum.starts) for access in einsum.accesses)
    return replace(einsum, accesses=accesses)


def _grown(access: TensorAccess, starts: Mapping[str, int]) -> TensorAccess:
    projection = tuple(
        (rank, replace(form, point_extent=1 + max(0, form.written(starts))))
        for rank, form in access.projection
    )
    return replace(access, projection=projection)


def counted(workload: Workload, rule: EinsumRule) -> Workload:
    """Return the workload with `rule` applied to each Einsum; the same object if none changes.

    `rule`: how constants in indices change tile sizes (`offsets_move` or `offsets_add`).
    """
    einsums = tuple(rule(einsum) for einsum in workload.einsums)
    pairs = zip(einsums, workload.einsums, strict=True)
    if all(with_offsets is original for with_offsets, original in pairs):
        return workload
    return replace(workload, einsums=einsums)
