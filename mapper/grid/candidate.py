"""A candidate for a grid of elements: a mapping and the layout of each tensor on the grid.

`grid_candidate` turns the choices of a study (the rank variable of each axis, the reduction, the
temporal tile, buffers) into a full mapping with layouts, or raises the reason why none exists.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import get_args

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.collectives import Axis, Phase, Scheme, grid_phases, line_phases
from tilewright.mapper.grid.grid import Grid, grid_of
from tilewright.mapper.layout import Collapse, GridSplit, Layout
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping

Choice = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class GridChoices:
    """Hold what a study chooses for the mapping of one matrix product on a grid of elements.

    An element is one cell of the grid: a memory with a compute engine. `shard_x`, `shard_y`: name
    of the rank variable whose values are divided over the columns (x) and over the rows (y) of the
    grid, or "none". `reduction`: how partial sums of the output are added over elements, "chain" or
    "two_phase" (theory/wafer.md §7.1). `tile_variable`, `tile`: each element works through its part
    of the iteration space in a temporal loop over that rank variable, `tile` of its values at a
    time; "none" or 0: no such loop. `buffers`: tiles of each streamed tensor that an element's
    memory holds at a time, 1 or 2; 2 overlaps transfers with work. `weights`: "resident" keeps
    persistent input tensors in the elements before the run, "streamed" sends them from the memory
    outside the grid during the run.
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
        """Build the choices from a mapping of field name to value, as a study file gives it.

        Names that are left out keep their defaults. Raises InfeasibleMapping for an unknown name,
        for a `reduction`, `buffers` or `weights` that is none of the allowed values, and for a
        `tile` that is no whole number of 0 or more. Whether rank variables exist and divide evenly
        is checked by `grid_candidate`.
        """
        names = [choice.name for choice in fields(cls)]
        for name in choices:
            if name not in names:
                raise InfeasibleMapping(
                    f"unknown mapping choice {name!r}", instead=f"one of {', '.join(names)}"
                )
        checked = cls(**choices)  # type: ignore[arg-type]
        _one_of("reduction", checked.reduction, get_args(Scheme))
        _one_of("buffers", checked.buffers, (1, 2))
        _one_of("weights", checked.weights, ("resident", "streamed"))
        tile = checked.tile
        if not isinstance(tile, int) or tile < 0:
            raise InfeasibleMapping("tile must be a whole number", value=tile, instead="≥ 0")
        return checked


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTensor:
    """Describe how one tensor lies on a grid of elements and in the memory of each element.

    `access`: the tensor's access in the Einsum. `split[axis]`: rank variable whose values are
    divided over axis "X" (columns) or "Y" (rows); along an axis without an entry all elements have
    the same values. `resident`: the element memories hold it before the run (an input) or keep it
    to the end (an output); otherwise it crosses the edge of the grid during the run. `layout`:
    which element holds which value. `order`: positions of the tensor's ranks, from the one that
    varies slowest in an element's memory to the fastest. `tile`: values along each rank in one
    buffer of an element. `tiles`: number of such tiles that pass through an element one after the
    other; 1: no temporal loop cuts it. `copies`: buffers of that size in each element's memory, 1
    or 2.
    """

    access: TensorAccess
    split: Dict[Axis, str]
    resident: bool
    layout: Layout
    order: tuple[int, ...]
    tile: tuple[int, ...]
    tiles: int
    copies: int

    @property
    def name(self) -> str:
        """Name of the tensor."""
        return self.access.tensor

    @property
    def variables(self) -> tuple[str, ...]:
        """Rank variable that indexes each rank, in the order of the tensor's ranks.

        There is exactly one per rank: `grid_candidate` refuses other projections.
        """
        return tuple(form.terms[0][0] for _, form in self.access.projection)

    @property
    def tile_elements(self) -> int:
        """Number of values of the tensor in one buffer of an element: the product of `tile`."""
        product = 1
        for extent in self.tile:
            product *= extent
        return product


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Hold all decisions about one Einsum on one grid of elements: its mapping and tensor layouts.

    The Einsum is a product of two inputs into one output. `flat`: the path of components from the
    root of the architecture to its compute. `grid`: the components that form the grid. `choices`:
    what was asked for. `mapping`: the loop nest for the analytical model. `tensors`: the layout of
    each tensor. `local[v]`: values of rank variable v that one element works on. `tile_variable`,
    `tile`: variable of the temporal loop of an element, and values of it per iteration (None and 0:
    no loop). `vector`: rank variable that one vector operation of the engine runs over;
    `vector_tensor`: the input that is indexed by it; `scalar_tensor`: the input that is not, of
    which the operation takes one value. `reduction`: the phases that add partial sums of the output
    over elements, empty if each element owns its part of the output.
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
        """Return the layout of tensor `name`.

        Raises KeyError if the Einsum does not use a tensor of that name.
        """
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise KeyError(name)

    @property
    def output(self) -> GridTensor:
        """Layout of the one tensor that the Einsum writes."""
        return self.tensor(self.einsum.outputs[0].tensor)

    @property
    def tiles(self) -> int:
        """Number of iterations of the temporal loop of each element; 1 without such a loop."""
        if self.tile_variable is None:
            return 1
        return self.local[self.tile_variable] // self.tile

    @property
    def extents(self) -> dict[str, int]:
        """Values of each rank variable that an element works on per iteration of its temporal loop.

        That is `tile` for the variable of the loop, and `local` for every other one.
        """
        return {
            name: self.tile if name == self.tile_variable else extent
            for name, extent in self.local.items()
        }

    @property
    def reduced(self) -> tuple[str, ...]:
        """Rank variables that the Einsum sums over: those that do not index the output."""
        in_output = self.output.access.rank_variables
        return tuple(name for name in self.einsum.bounds if name not in in_output)


def grid_candidate(flat: FlatArch, einsum: Einsum, choices: Dict[str, Choice]) -> Candidate:
    """Turn the choices of a study into a mapping with layouts for one Einsum on a grid.

    `flat`: path of components to the compute, with one component that has one or two spatial
    dimensions: the grid. `choices`: values by the names of the fields of `GridChoices`. The result
    also fixes what follows from the choices: the share of each element, the rank variable of the
    vector operation (the longest one that indexes the output and exactly one input), which tensors
    are resident, and the phases of the reduction.

    Raises InfeasibleMapping, with the reason, if the architecture is no such grid, if a choice is
    unknown, if the Einsum is no product of two inputs into one output with one rank variable per
    rank, if no variable suits the vector operation, if an axis of several elements has no variable
    (its elements would repeat the same work), if a name is no rank variable of the Einsum, or if
    elements or tiles do not divide a bound evenly. That the tensors fit the element memories is not
    checked here.
    """
    from tilewright.mapper.grid.candidate_mapping import write_mapping

    grid, picked = grid_of(flat), GridChoices.of(choices)
    _check_einsum(einsum)
    local = _local_extents(grid, einsum, picked)
    tile_variable, tile = _tile(einsum, picked, local)
    extents = {**local, **({tile_variable: tile} if tile_variable else {})}
    vector, vector_tensor, scalar_tensor = _vector(einsum, extents)
    shares = _Shares(einsum.bounds, local, tile_variable, tile)
    tensors = tuple(
        _layout(access, _split(access, grid, picked), picked, shares, vector)
        for access in einsum.accesses
    )
    unmapped = Candidate(
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
    return write_mapping(unmapped)


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        options = ", ".join(str(option) for option in allowed)
        raise InfeasibleMapping(f"{name} cannot be {value!r}", instead=f"one of {options}")


def _check_einsum(einsum: Einsum) -> None:
    is_product = einsum.formula is None and einsum.combine == "*" and not einsum.is_copy
    if not is_product or len(einsum.outputs) != 1 or len(einsum.inputs) != 2:
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
    """Return (rank variable, tensor with it, tensor without it) of the vector operation.

    The variable is the longest one of the output and of exactly one input.
    """
    output, (first, second) = einsum.outputs[0], einsum.inputs
    options = []
    for name in einsum.bounds:
        users = [access for access in (first, second) if name in access.rank_variables]
        if len(users) == 1 and name in output.rank_variables:
            scalar = second if users[0] is first else first
            options.append((extents[name], name, users[0].tensor, scalar.tensor))
    if not options:
        raise InfeasibleMapping(
            f"no rank variable of {einsum.name} runs through the output and exactly one input",
            instead="a matrix product; element-wise Einsums are not lowered yet",
        )
    _, vector, vector_tensor, scalar_tensor = max(options, key=lambda option: option[0])
    return vector, vector_tensor, scalar_tensor


@dataclass(frozen=True, slots=True)
class _Shares:
    """Extents of rank variables: of the Einsum, of one element, and of one temporal tile."""

    bounds: Dict[str, int]
    local: Dict[str, int]
    tile_variable: str | None
    tile: int

    def layout(self, names: Sequence[str]) -> Layout:
        """Return the distribution of a tensor with these rank variables."""
        cells = tuple(self.bounds[name] // self.local[name] for name in names)
        collapse = Collapse.of([self.bounds[name] for name in names], ())
        return Layout.on_grid(collapse, GridSplit.exact(collapse.extents, cells))

    def extents(self, names: Sequence[str], tiled: bool) -> tuple[int, ...]:
        """Return the extents in one buffer of an element."""
        return tuple(
            self.tile if tiled and name == self.tile_variable else self.local[name]
            for name in names
        )


def _layout(
    access: TensorAccess,
    split: dict[Axis, str],
    picked: GridChoices,
    shares: _Shares,
    vector: str,
) -> GridTensor:
    names = [form.terms[0][0] for _, form in access.projection]
    stays = access.persistent and not access.output and picked.weights == "resident"
    resident = len(split) == 2 or stays
    tile_variable = None if resident else shares.tile_variable
    tiled = tile_variable in names
    order = sorted(range(len(names)), key=lambda position: names[position] == vector)
    return GridTensor(
        access=access,
        split=split,
        resident=resident,
        layout=shares.layout(names),
        order=tuple(order),
        tile=shares.extents(names, tiled),
        tiles=shares.local[tile_variable] // shares.tile if tile_variable in names else 1,
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
