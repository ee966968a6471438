"""What decides about the loops and tiles in the region of one Einsum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine


@dataclass(frozen=True, slots=True)
class AgreedTile:
    """The tiles that a tensor on chip may have, because other Einsums that use it have no others.

    `tensor`: its number among those of the Einsum. `memory`: which exchanges it. `variables`: the
    numbers of the rank variables of the loops that may be shared above it. `codes`: the numbers of
    the tiles over these variables (see tile_codes), rising, int64, as bytes.
    """

    tensor: int
    memory: str
    variables: tuple[int, ...]
    codes: bytes

    def admits(self, tiles: Ints, bounds: Ints) -> NDArray[np.bool_]:
        """Tell which tiles are among these.

        `tiles`: of all rank variables, in values, shape (tiles, variables); `bounds`: of these. The
        result has shape (tiles,).
        """
        columns = list(self.variables)
        codes = tile_codes(tiles[:, columns], bounds[columns])
        return np.isin(codes, np.frombuffer(self.codes, np.int64))


def tile_codes(tiles: Ints, bounds: Ints) -> Ints:
    """Number tiles, so that two have one number only if they are equal; shape (tiles,).

    `tiles`: in values, shape (tiles, variables). `bounds`: of the variables; their product must be
    below 2^63.
    """
    codes = np.zeros(len(tiles), np.int64)
    for column, bound in enumerate(bounds.tolist()):
        codes = codes * bound + (tiles[:, column] - 1)
    return codes


@dataclass(frozen=True, slots=True)
class RegionRules:
    """Say what decides about the loops of the region of one Einsum, and about what counts there.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor
    exchanged on chip. `shareable[T]`: rank variables of the loops that may be shared above tensor
    T. `contested`: tensors that another Einsum in the same shared loops may hold, too, without
    exchanging them. `tracked_tiles`: those of them whose tile sizes matter to later Einsums.
    `varied_windows`: those that Einsums see through different windows. `shares_tiles`: tiles that
    two Einsums hold at one place are one. `memories`, `capacities`: names and bits of the memories
    in which tensors are exchanged. `counts_latency`: latency is computed. `fused`: fused loops are
    made, at most `loops_per_variable` over one variable. `usage_memories`: memories whose bits in
    use are reported with each pmapping. `private`: tensors that no other Einsum uses and that do
    not persist. `agreed`: tiles that tensors on chip must have.
    """

    shareable: Mapping[str, frozenset[str]]
    contested: frozenset[str]
    tracked_tiles: frozenset[str]
    varied_windows: frozenset[str]
    shares_tiles: bool
    memories: tuple[str, ...]
    capacities: tuple[float, ...]
    counts_latency: bool
    fused: bool
    loops_per_variable: int = 1
    usage_memories: tuple[str, ...] = ()
    private: frozenset[str] = frozenset()
    agreed: tuple[AgreedTile, ...] = ()


def tile_bits(engine: LabelEngine, tensor: str, memory: str) -> Floats:
    """Return the bits of a tensor's tile in a memory for each tile shape, shape (states,).

    A state is the number of a tile shape in the lattice of `engine`. Values count in the width that
    the Einsum sees in that memory.
    """
    problem = engine.problem
    access = problem.einsum.access(tensor)
    width = float(problem.holder(memory).bits_per_value.get(tensor, access.bits_per_value))
    return engine.lattice.occupancy(access) * width
