"""Which tiles of a rank variable are worth a look at a place of a template.

What lies below the place is its `tail`: one host per slot that can loop over the variable,
outermost first. A tile is a candidate if the hosts of the tail can take it to 1 by loops that
divide evenly. Of a loop whose tile matters by the number of tiles alone, only the smallest tile of
each number is: with Q = ceil(P / t), among the multiples m t with the same ceil(Q / m) the smallest
(lattice-dp.md §9.6; not so below a lane, where the steps depend on more than that number).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.mapspace.fanout import divisors

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Host:
    """A slot that can loop over the variable; `lanes`: the most that a spatial one deals."""

    kind: Literal["all", "thin", "lanes"]
    lanes: int = 0


Tail = tuple[Host, ...]


def quotient_steps(count: int) -> list[int]:
    """Return the smallest multiplier of each value of ceil(count / multiplier), ascending."""
    return sorted({-(-count // n) for n in range(1, count + 1)}) if count < 64 else _steps(count)


def _steps(count: int) -> list[int]:
    found, step = [], 1
    while step < count:
        found.append(step)
        quotient = -(-count // step)
        step = -(-count // (quotient - 1))  # the smallest with a smaller quotient
    return [*found, count]


@cache
def candidates(whole: int, tail: Tail) -> Mask:
    """Mark the tiles 0 … `whole` below an uneven loop over `whole` that the tail can finish."""
    mask = np.zeros(whole + 1, np.bool_)
    if not tail:
        mask[1] = True
        return mask
    rest, host = candidates(whole, tail[1:]), tail[0]
    if host.kind == "all":
        mask[1:] = True
        return mask
    for tile in np.flatnonzero(rest).tolist():
        if host.kind == "lanes":
            mask[tile : min(host.lanes * tile, whole) + 1 : tile] = True
        else:
            steps = quotient_steps(-(-whole // tile))
            mask[[step * tile for step in steps if step * tile <= whole]] = True
    return mask


@cache
def can_finish_open(tile: int, tail: Tail) -> bool:
    """Tell whether the tail can take a tile to 1 with at most one uneven loop."""
    if not tail or tile == 1:
        return tile == 1
    if tail[0].kind != "lanes":
        return True
    lanes, rest = tail[0].lanes, tail[1:]
    if candidates(tile, rest)[-(-tile // lanes) : tile].any():
        return True
    return any(can_finish_open(tile // n, rest) for n in divisors(tile) if n <= lanes)
