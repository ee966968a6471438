"""Choices of a kernel as a study makes them: fields of a dataclass, checked by their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from tilewright.mapper.workload.errors import InfeasibleMapping

Choices = TypeVar("Choices")


@dataclass(frozen=True, slots=True)
class GridMatmulChoices:
    """How one product is laid out on a grid of cores.

    `rows`, `columns`: of the grid that the result is divided over (one row or column may be longer
    than the machine's: height and width shardings); `storage`: whether the first operand and the
    result are in the cores or in DRAM; `element`: number format; `fidelity`: of the matrix unit;
    `inner_block`: tiles along k that arrive at a time. With data in DRAM a core works on parts of
    the result one after the other, such that they fit and the fewest operands are read again.
    """

    rows: int = 1
    columns: int = 1
    storage: Literal["cores", "dram"] = "cores"
    element: Literal["f32", "bf16", "f16", "bfp8", "bfp4"] = "bf16"
    fidelity: Literal["lofi", "hifi2", "hifi3", "hifi4"] = "hifi4"
    inner_block: int = 4


@dataclass(frozen=True, slots=True)
class BlockedMatmulChoices:
    """How one matrix product is blocked: result[m, n] = sum over k of first[m, k] * second[k, n].

    `m_tiles`, `k_tiles`, `n_tiles`: tiles of a block along m (128 rows each), k (128) and n (512);
    `order`: of the loops over blocks, outermost first; `first_buffers`, `second_buffers`: number of
    buffers that the blocks of each operand take turns in; `psum_banks`: number of banks that tiles
    of partial sums take turns in; `element`: number format of operands and result; `partial`:
    format of partial sums that leave PSUM.
    """

    m_tiles: int = 1
    k_tiles: int = 1
    n_tiles: int = 1
    order: Literal["mnk", "mkn", "nmk", "nkm", "kmn", "knm"] = "mnk"
    first_buffers: int = 2
    second_buffers: int = 2
    psum_banks: int = 2
    element: Literal["bf16", "f16"] = "bf16"
    partial: Literal["f32", "bf16", "f16"] = "f32"


def choices_of(kind: type[Choices], choices: Mapping[str, str | int]) -> Choices:
    """Return the choices of a kernel from their values by name; others keep their defaults.

    `kind`: a dataclass whose fields are `int` (1 or more) or a `Literal`. Raises InfeasibleMapping
    for an unknown name and for a value that is none of the field's.
    """
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name, value in choices.items():
        if name not in names:
            raise InfeasibleMapping(
                f"unknown mapping choice {name!r}", instead=f"one of {', '.join(names)}"
            )
        _check(name, value, hints[name])
    return kind(**choices)


def _check(name: str, value: str | int, hint: Any) -> None:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            allowed = ", ".join(map(str, get_args(hint)))
            raise InfeasibleMapping(f"unknown {name}", value=value, instead=f"one of {allowed}")
    elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InfeasibleMapping(f"{name} must be a whole number", value=value, instead="≥ 1")
