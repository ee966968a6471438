"""What `map` says where a workload leaves open which tensor is the input of an Einsum."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tilewright.arch.quantities import some

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.workload.einsum import Einsum
    from tilewright.mapper.workload.workload import Workload

_ROLE = re.compile(r"\b(input|weight)\b")


def role_notes(arch: Arch, workload: Workload) -> list[str]:
    """Return the note that `weight` stands for all inputs of an Einsum; none where all is clear.

    Then an architecture that treats `input` and `weight` differently has no input to treat.
    """
    unclear = [einsum for einsum in workload.einsums if _weights(einsum)]
    if not unclear or not any(_names_roles(node.spec.model_dump()) for node in arch.leaves()):
        return []
    first = unclear[0]
    names = _weights(first)
    others = f", likewise in {some(len(unclear) - 1, 'other Einsum')}" if unclear[1:] else ""
    note = (
        f"note: in Einsum {first.name} the architecture's `weight` stands for "
        f"{' and '.join(names)}, and its `input` for nothing{others}; "
        f"`renames: {{input: {names[0]}, weight: {names[-1]}}}` beside the Einsum would tell them "
        "apart"
    )
    return [note]


def _weights(einsum: Einsum) -> list[str]:
    """Return the inputs that all are `weight`; none if one of them is `input`."""
    weights = einsum.renames.get("weight", frozenset())
    if len(weights) < 2 or einsum.renames.get("input"):
        return []
    return [tensor for tensor in einsum.tensors if tensor in weights]


def _names_roles(value: object) -> bool:
    """Tell whether a text in the fields of a component names one of the two roles."""
    return any(_ROLE.search(text) for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
