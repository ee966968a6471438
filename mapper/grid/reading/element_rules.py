"""The rules of a mapping that programs of the elements can follow (theory/grid.md §1)."""

from __future__ import annotations

from itertools import product

from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.number_types import in_elements, number_types
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.einsum import Affine, Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.notation import affine_text


def check_einsum(einsum: Einsum, grid: Grid) -> None:
    """Raise InfeasibleMapping for an Einsum that elements do not compute, whatever its mapping."""
    if len(einsum.outputs) != 1 or not einsum.inputs:
        raise refusal(f"{einsum.name} has not exactly one output and an input", "one output")
    if not einsum.bounds:
        raise refusal(f"{einsum.name} has no rank variable", "a rank of one value: Z[u] = A[u]")
    for rank, form in einsum.outputs[0].projection:
        if sum(einsum.bounds[name] > 1 for name, _ in form.terms) > 1:
            raise _overlaps(einsum, rank, form)
    number_types(in_elements(einsum, grid))


def _overlaps(einsum: Einsum, rank: str, form: Affine) -> InfeasibleMapping:
    """Return the error for an output whose tiles overlap, since a sum of variables indexes it."""
    output, new = einsum.outputs[0].tensor, rank.lower()
    instead = f"{output}[{new}], an index of one variable"
    solved = next((name for name, factor in form.terms if factor == 1), None)
    if solved is not None:
        others = tuple((name, -factor) for name, factor in form.terms if name != solved)
        index = affine_text(Affine(((new, 1), *others), -form.constant))
        instead += f", with {index} for {solved} in the inputs, and pad: for the zeros beyond them"
    return refusal(
        f"{einsum.name} writes {output} at {affine_text(form)}: its tiles overlap, and nothing "
        "adds them up",
        instead,
    )


def check_residence(tensor: HeldTensor, grid: Grid, staying: frozenset[str]) -> None:
    """Raise InfeasibleMapping for a tensor that only the elements hold, but not for the whole run.

    staying: tensors that one Einsum leaves in the elements for another.
    """
    if not tensor.resident:
        return
    stays = tensor.access.output or tensor.access.persistent or tensor.name in staying
    if not stays:
        raise refusal(
            f"{tensor.name} is in no memory outside the grid, but it is neither persistent nor "
            "computed by an Einsum that leaves it in the elements",
            f"keep it in {grid.host.name}, or list it in persistent_tensors",
        )
    if tensor.depth and tensor.shift is None:
        raise refusal(
            f"a loop stands above {tensor.name}, which only the elements hold",
            f"its Storage in {grid.memory.name} above all loops in time",
        )


def check_space_time(read: SpaceTime) -> None:
    """Raise InfeasibleMapping, with what to write instead, for a mapping that breaks a rule."""
    _check_narrowed(read)
    _check_sums(read)
    _check_scalar(read)
    _check_buffers(read)
    _check_shifts(read)
    _check_reuse(read)


def _check_narrowed(read: SpaceTime) -> None:
    """Raise InfeasibleMapping for an output of f32 sums that is f16, but stays in the elements."""
    name, memory = read.output.name, read.grid.memory.name
    if read.narrows and read.output.resident:
        raise refusal(
            f"{name} stays in {memory} with its sums of {read.dtype}, but is {read.result_dtype}",
            f"{name} in {read.grid.host.name}, on the way to which its values become "
            f"{read.result_dtype}, or no bits_per_value of {name} in {memory}",
        )


def _check_sums(read: SpaceTime) -> None:
    """Raise InfeasibleMapping unless partial sums stay in the elements until they are complete.

    So no loop over a summed variable may stand above the output's Storage, and along each axis
    loops over summed variables are innermost: the elements that add up are neighbours.
    """
    above = [loop.variable for loop in read.time[: read.output.depth]]
    summed = next((name for name in above if read.is_reduced(name)), None)
    if summed is not None:
        raise refusal(
            f"the loop over {summed}, which is summed over, stands above {read.output.name}: "
            "partial sums would leave the grid and come back",
            f"the Storage of {read.output.name} above that loop",
        )
    for axis in ("X", "Y"):
        reduced = [read.is_reduced(loop.variable) for loop in read.along(axis)]
        if reduced != sorted(reduced):
            raise refusal(
                f"elements along {axis} that add up are not neighbours",
                f"the loops that are summed over innermost along {axis}",
            )


def _check_scalar(read: SpaceTime) -> None:
    """Raise InfeasibleMapping unless one vector operation uses each value in the register.

    The register holds an input of an Einsum of two inputs. Its Storage is below all those of the
    elements' memory. Loops below it are over output variables that this input lacks.
    """
    if read.scalar is None:
        return
    tensor, below = read.tensor(read.scalar), read.time[read.scalar_depth :]
    if tensor.access.output or len(read.inputs) != 2:
        raise refusal(
            f"the engine's register holds {read.scalar}",
            f"no Storage in {_register(read)}: it is for an input of an Einsum of two inputs",
        )
    if read.scalar_depth < read.kernel:
        raise refusal(
            f"the register of {read.scalar} stands above a Storage of {read.grid.memory.name}",
            "below all of them",
        )
    for loop in below:
        if tensor.uses(loop.variable) or read.is_reduced(loop.variable):
            raise refusal(
                f"the loop over {loop.variable} below the register of {read.scalar} is no loop of "
                "one vector operation",
                f"below it only loops over ranks of {read.output.name} that {read.scalar} lacks, "
                f"the others above it, or no Storage in {_register(read)}",
            )


def _register(read: SpaceTime) -> str:
    register = read.grid.register
    assert register is not None  # it has a Storage
    return register.name


def _check_buffers(read: SpaceTime) -> None:
    """Raise InfeasibleMapping unless tensors have 1 or 2 buffers, and 2 only to overlap work.

    With two buffers anywhere, one loop in time is above the tiles that pass. All tensors below this
    loop have two buffers; those above it have one.
    """
    for tensor in read.tensors:
        if tensor.buffers not in (1, 2):
            raise refusal(f"{tensor.name} has {tensor.buffers} buffers", "1 or 2")
    single = {tensor.depth for tensor in read.tensors if tensor.buffers == 1}
    double = {tensor.depth for tensor in read.tensors if tensor.buffers == 2}
    if double and (read.kernel != 1 or single - {0} or double != {1}):
        raise refusal(
            "two buffers overlap the tiles of one loop in time",
            "one loop above the Storages with two buffers, and two buffers for each tensor there",
        )


def _check_reuse(read: SpaceTime) -> None:
    """Raise InfeasibleMapping for a tensor that a line of elements has in common, but may not.

    Elements that work with the same values get them from one transfer, and add up what they write.
    """
    for share, tensor in product(read.space, read.tensors):
        dim = read.grid.dimension(share.axis)
        is_common = not tensor.uses(share.variable) and (
            tensor.access.output or not tensor.resident
        )
        if is_common and dim is not None and tensor.name not in dim.may_reuse:
            raise refusal(
                f"elements along {dim.name} have {tensor.name} in common, which may_reuse of "
                f"{read.grid.fanout}.{dim.name} leaves out",
                f"{tensor.name} in may_reuse, or no loop over {dim.name} but over its ranks",
            )


def _check_shifts(read: SpaceTime) -> None:
    """Raise InfeasibleMapping unless tiles that move along rings meet those that they work with.

    Only inputs may shift.
    """
    if not read.shifted and read.output.shift is None:
        return
    if read.output.shift is not None:
        raise refusal(f"{read.output.name} shifts", "a shift of inputs only")
    for tensor in read.shifted:
        _check_turns_of_ring(read, tensor)
        _check_ring(read, tensor)
    for tensor in read.inputs:
        if tensor.shift is None and (tensor.depth or tensor.uses(read.time[0].variable)):
            _check_beside_shifts(read, tensor)


def _check_turns_of_ring(read: SpaceTime, tensor: HeldTensor) -> None:
    """Raise InfeasibleMapping unless a tile goes round its ring once, in turns of a sum."""
    name, axis, loop = tensor.name, tensor.shift, read.time[0]
    elements = read.columns if axis == "X" else read.rows
    if tensor.buffers != 2:
        raise refusal(f"{name} shifts with {tensor.buffers} buffers", "2 buffers")
    if not tensor.uses(loop.variable) or not read.is_reduced(loop.variable):
        raise refusal(
            f"{name} shifts below a loop over {loop.variable}",
            f"a loop over a rank of {name} that is summed over",
        )
    if loop.count != elements:
        raise refusal(
            f"{loop.count} tiles of {name} shift along {elements} elements of axis {axis}",
            "as many tiles as elements",
        )


def _check_ring(read: SpaceTime, tensor: HeldTensor) -> None:
    """Raise InfeasibleMapping unless the elements of a ring work with the same tiles in turn.

    The tiles of an input from outside enter each ring once, and only for that ring.
    """
    name, axis = tensor.name, tensor.shift
    assert axis is not None
    if any(tensor.uses(share.variable) for share in read.along(axis)):
        raise refusal(
            f"{name} shifts along axis {axis}, whose elements share a rank of it", "the other axis"
        )
    if name in read.staying:
        raise refusal(
            f"{name} shifts, which another Einsum leaves in the elements",
            f"{name} in {read.grid.host.name}",
        )
    across = read.along("Y" if axis == "X" else "X")
    turned = any(other.shift not in (None, axis) for other in read.shifted)
    if turned and not tensor.resident and not all(tensor.uses(s.variable) for s in across):
        raise refusal(
            f"{name} would enter once for each ring along axis {axis}",
            f"a rank of {name} over the other axis, or {name} persistent and in the elements",
        )


def _check_beside_shifts(read: SpaceTime, tensor: HeldTensor) -> None:
    """Raise InfeasibleMapping unless an input that does not shift serves each turn of the shifts.

    It must be persistent and whole in the elements, and the variable of the shift alone in one
    index.
    """
    name, variable = tensor.name, read.time[0].variable
    if tensor.depth or not tensor.resident or name in read.staying:
        raise refusal(
            f"{name} comes in tiles beside tensors that shift, or in another order to each element",
            f"a shift of {name}, too, or {name} persistent, whole in the elements",
        )
    forms = [form for _, form in tensor.access.projection if variable in dict(form.terms)]
    if len(forms) > 1 or forms[0].terms != ((variable, 1),):
        raise refusal(
            f"{variable} stands beside others in an index of {name}, which does not shift",
            f"an index that is {variable} alone",
        )


def refusal(what: str, instead: str) -> InfeasibleMapping:
    """Return the error that says which rule a mapping breaks, and what to write instead."""
    return InfeasibleMapping(f"no program of the elements: {what}", instead=instead)
