"""A candidate for a grid of elements: a mapping plus the layout of each tensor on the grid.

`grid_candidate` turns the coarse choices of a study (which rank variable is dealt over which axis,
how partial sums meet, the temporal tile, buffers) into a full mapping with layouts, or says why
there is none.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, field, fields
from typing import get_args

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.collectives import Axis, Phase, Scheme, grid_phases, line_phases
from tilewright.mapper.grid.grid import Grid, grid_of
from tilewright.mapper.layout import Collapse, Sharding
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping

Choice = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class GridChoices:
    """The coarse choices of a grid mapping.

    `shard_x`, `shard_y`: rank variable dealt over the columns and over the rows ("none": nothing).
    `tile_variable`, `tile`: the temporal tile of an element's share (0: all of it at once).
    `buffers`: tiles in memory per streamed tensor; 2 overlaps transfers with work.
    `weights`: "resident" keeps persistent tensors in the elements, "streamed" brings them along.
    """

    shard_x: str = "none"
    shard_y: str = "none"
    reduction: Scheme = "chain"
    tile_variable: str = "none"
    tile: int = 0
    buffers: int = 1
    weights: str = "resident"

    @classmethod
    def of(cls, choices: Dict[str, Choice]) -> GridChoices:
        """Check names and values; raises InfeasibleMapping with what is allowed."""
        names = [known.name for known in fields(cls)]
        for name in choices:
            if name not in names:
                raise InfeasibleMapping(
                    f"unknown mapping choice {name!r}", instead=f"one of {', '.join(names)}"
                )
        found = cls(**choices)  # type: ignore[arg-type]
        _one_of("reduction", found.reduction, get_args(Scheme))
        _one_of("buffers", found.buffers, (1, 2))
        _one_of("weights", found.weights, ("resident", "streamed"))
        if not isinstance(found.tile, int) or found.tile < 0:
            raise InfeasibleMapping("tile must be a whole number", value=found.tile, instead="≥ 0")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTensor:
    """How one tensor lies on the grid.

    `split[axis]` is the rank variable that deals it over that axis; an axis without one sees the
    same values in all its elements. `order`: rank positions from the slowest to the fastest in an
    element's memory. `tile`: extent of each rank in one buffer; `tiles`: how many of them pass.
    """

    access: TensorAccess
    split: Dict[Axis, str]
    resident: bool
    sharding: Sharding
    order: tuple[int, ...]
    tile: tuple[int, ...]
    tiles: int
    copies: int

    @property
    def name(self) -> str:
        return self.access.tensor

    @property
    def variables(self) -> tuple[str, ...]:
        """Rank variable of each rank (projections are single variables here)."""
        return tuple(form.terms[0][0] for _, form in self.access.projection)

    @property
    def tile_elements(self) -> int:
        product = 1
        for extent in self.tile:
            product *= extent
        return product


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """All decisions for one Einsum on one grid.

    `loops`: the element's loops around the vector operation, outermost first, as (rank variable,
    iterations); `vector`: the rank variable that one operation runs over, and its extent.
    """

    flat: FlatArch = field(repr=False)
    grid: Grid = field(repr=False)
    einsum: Einsum
    choices: GridChoices
    mapping: Mapping
    tensors: tuple[GridTensor, ...]
    local: Dict[str, int]
    tile_variable: str | None
    tile: int
    vector: str
    scalar_tensor: str
    vector_tensor: str
    reduction: tuple[Phase, ...]

    def tensor(self, name: str) -> GridTensor:
        """Return the layout of tensor `name`; KeyError if the Einsum does not touch it."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise KeyError(name)

    @property
    def output(self) -> GridTensor:
        return self.tensor(self.einsum.outputs[0].tensor)

    @property
    def tiles(self) -> int:
        """Temporal tiles that each element works through."""
        if self.tile_variable is None:
            return 1
        return self.local[self.tile_variable] // self.tile

    @property
    def extents(self) -> dict[str, int]:
        """Extent of each rank variable in one temporal tile of one element."""
        return {
            name: self.tile if name == self.tile_variable else extent
            for name, extent in self.local.items()
        }

    @property
    def reduced(self) -> tuple[str, ...]:
        """Rank variables summed over."""
        kept = self.output.access.rank_variables
        return tuple(name for name in self.einsum.bounds if name not in kept)


def grid_candidate(flat: FlatArch, einsum: Einsum, choices: Dict[str, Choice]) -> Candidate:
    """Build the candidate for these choices; raises InfeasibleMapping with the reason if none."""
    from tilewright.mapper.grid.candidate_mapping import write_mapping

    grid, picked = grid_of(flat), GridChoices.of(choices)
    _check_einsum(einsum)
    local = _local_extents(grid, einsum, picked)
    tile_variable, tile = _tile(einsum, picked, local)
    extents = {**local, **({tile_variable: tile} if tile_variable else {})}
    vector, vector_tensor, scalar_tensor = _vector(einsum, extents)
    tensors = tuple(
        _layout(access, (grid, einsum, picked), (local, tile_variable, tile), vector)
        for access in einsum.accesses
    )
    parts = Candidate(
        flat=flat,
        grid=grid,
        einsum=einsum,
        choices=picked,
        mapping=Mapping(()),
        tensors=tensors,
        local=local,
        tile_variable=tile_variable,
        tile=tile,
        vector=vector,
        scalar_tensor=scalar_tensor,
        vector_tensor=vector_tensor,
        reduction=_reduction(grid, tensors, picked.reduction),
    )
    return write_mapping(parts)


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        options = ", ".join(str(option) for option in allowed)
        raise InfeasibleMapping(f"{name} cannot be {value!r}", instead=f"one of {options}")


def _check_einsum(einsum: Einsum) -> None:
    if einsum.is_copy or len(einsum.outputs) != 1 or len(einsum.inputs) != 2:
        raise InfeasibleMapping(
            f"Einsum {einsum.name} is not a product of two inputs into one output",
            value=list(einsum.tensors),
            instead="an Einsum such as Z[m, n] = A[m, k] * B[k, n]",
        )
    for access in einsum.accesses:
        for rank, form in access.projection:
            if form.constant or len(form.terms) != 1 or form.terms[0][1] != 1:
                raise InfeasibleMapping(
                    f"rank {rank} of {access.tensor} is not a single rank variable",
                    instead="projections such as [m, k]; sums and strides are not lowered yet",
                )


def _local_extents(grid: Grid, einsum: Einsum, picked: GridChoices) -> dict[str, int]:
    local = dict(einsum.bounds)
    for axis, name, cells in (
        ("X", picked.shard_x, grid.columns),
        ("Y", picked.shard_y, grid.rows),
    ):
        if name == "none":
            if cells > 1:
                raise InfeasibleMapping(
                    f"{cells} elements along {axis} would repeat the same work",
                    instead=f"a rank variable for shard_{axis.lower()}, or 1 along {axis}",
                )
            continue
        if name not in local:
            raise InfeasibleMapping(
                f"shard_{axis.lower()} = {name!r} is no rank variable of {einsum.name}",
                instead=f"one of {', '.join(local)}, none",
            )
        if local[name] % cells:
            raise InfeasibleMapping(
                f"{name} = {local[name]} does not divide over {cells} elements along {axis}",
                instead=f"a divisor of {local[name]} along {axis}",
            )
        local[name] //= cells
    return local


def _tile(einsum: Einsum, picked: GridChoices, local: dict[str, int]) -> tuple[str | None, int]:
    name = picked.tile_variable
    if name == "none" or picked.tile == 0:
        return None, 0
    if name not in local:
        raise InfeasibleMapping(
            f"tile_variable = {name!r} is no rank variable of {einsum.name}",
            instead=f"one of {', '.join(local)}, none",
        )
    if local[name] % picked.tile:
        raise InfeasibleMapping(
            f"a tile of {picked.tile} does not divide the {local[name]} values of {name} "
            "in an element",
            instead=f"a divisor of {local[name]}",
        )
    return (None, 0) if picked.tile == local[name] else (name, picked.tile)


def _vector(einsum: Einsum, extents: Dict[str, int]) -> tuple[str, str, str]:
    """Pick the longest rank variable that runs through the output and one input only."""
    output, (first, second) = einsum.outputs[0], einsum.inputs
    options = []
    for name in einsum.bounds:
        users = [access for access in (first, second) if name in access.rank_variables]
        if len(users) == 1 and name in output.rank_variables:
            other = second if users[0] is first else first
            options.append((extents[name], name, users[0].tensor, other.tensor))
    if not options:
        raise InfeasibleMapping(
            f"no rank variable of {einsum.name} runs through the output and exactly one input",
            instead="a matrix product; element-wise Einsums are not lowered yet",
        )
    _, vector, vector_tensor, scalar_tensor = max(options, key=lambda option: option[0])
    return vector, vector_tensor, scalar_tensor


def _layout(
    access: TensorAccess,
    where: tuple[Grid, Einsum, GridChoices],
    tiling: tuple[Dict[str, int], str | None, int],
    vector: str,
) -> GridTensor:
    (grid, einsum, picked), (local, tile_variable, tile) = where, tiling
    names = [form.terms[0][0] for _, form in access.projection]
    split = _split(access, grid, picked)
    cells = {name: einsum.bounds[name] // local[name] for name in names}
    stays = access.persistent and not access.output and picked.weights == "resident"
    resident = len(split) == 2 or stays
    tiled = tile_variable in names and not resident
    extents = [tile if name == tile_variable and tiled else local[name] for name in names]
    order = sorted(range(len(names)), key=lambda at: names[at] == vector)
    return GridTensor(
        access=access,
        split=split,
        resident=resident,
        sharding=Sharding(
            Collapse.of([einsum.bounds[name] for name in names], ()),
            tuple(cells[name] for name in names),
        ),
        order=tuple(order),
        tile=tuple(extents),
        tiles=local[tile_variable] // tile if tiled and tile_variable else 1,
        copies=picked.buffers if tiled else 1,
    )


def _split(access: TensorAccess, grid: Grid, picked: GridChoices) -> dict[Axis, str]:
    pairs: tuple[tuple[Axis, str, int], ...] = (
        ("X", picked.shard_x, grid.columns),
        ("Y", picked.shard_y, grid.rows),
    )
    return {
        axis: name for axis, name, cells in pairs if name in access.rank_variables and cells > 1
    }


def _reduction(grid: Grid, tensors: tuple[GridTensor, ...], scheme: Scheme) -> tuple[Phase, ...]:
    output = next(tensor for tensor in tensors if tensor.access.output)
    if output.resident:
        return ()
    if not output.split:
        return grid_phases(grid.columns, grid.rows, scheme)
    axis: Axis = "Y" if "X" in output.split else "X"
    return line_phases(axis, grid.size(axis), scheme)
