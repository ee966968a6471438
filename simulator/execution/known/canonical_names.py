"""What stands for the names of an Einsum in keys: equal for Einsums that differ in names only."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from tilewright.mapper.workload.einsum import Einsum, TensorAccess


def canonical_names(einsum: Einsum) -> dict[str, str]:
    """Return for each rank variable and tensor of an Einsum, and for it, a name that stands for it.

    They are numbers by the order of the names, since that may decide between equal mappings.
    Example: "K[n, h] = X[n, d] * W[d, h]" and "Q[q, h] = Z[q, d] * Y[d, h]" differ, as W is before
    X and Z is behind Y; with "Q[q, h] = Y[q, d] * S[d, h]" they have the same.
    """
    roles: defaultdict[str, str] = defaultdict(str)
    for role, names in (("v", {*einsum.bounds}), ("t", {*einsum.tensors})):
        for number, name in enumerate(sorted(names)):
            roles[name] += f"{role}{number}"
    roles[einsum.name] += "e"
    return {name: f"\0{role}" for name, role in roles.items()}


def with_plain_ranks(einsum: Einsum) -> Einsum:
    """Return an Einsum whose tensors' ranks are named by their places: no mapping asks for them."""
    return replace(einsum, accesses=tuple(map(_with_plain_ranks, einsum.accesses)))


def _with_plain_ranks(access: TensorAccess) -> TensorAccess:
    places = {rank: str(place) for place, (rank, _) in enumerate(access.projection)}
    projection = tuple((places[rank], index) for rank, index in access.projection)
    padded = tuple((places.get(rank, rank), size) for rank, size in access.padded)
    return replace(access, projection=projection, padded=padded)
