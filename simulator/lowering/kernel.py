"""The work of an element on one tile: loops around one vector operation.

The operation is the machine's own where it has one (fmacs, fadds, …), else a map: scalar
instructions for each value of the operands (theory/grid.md §4).
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.mapper.grid.space_time import SpaceTime, TimeLoop
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.formulas.expression import expression
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import FILES, Element, Ref, Register
from tilewright.simulator.isa.index_expression import Index, variable
from tilewright.simulator.lowering.elementary import COMPUTE, map_formula, scalar_steps
from tilewright.simulator.lowering.number_operations import (
    WIDENING_PRODUCT,
    WIDENING_SUM,
    move_of,
    own_operation,
)
from tilewright.simulator.lowering.tile_layout import TileLayout, tile_layout
from tilewright.simulator.program.instruction import Instruction

MOST_DIMENSIONS = 4
"""Dimensions of a descriptor."""
STRIDE_REGISTERS = 8
"""Strides that the descriptors of one operation may have together."""
MOST_STRIDE = 127
"""Values from one to the next of a descriptor of one dimension; others have registers for more."""
MOST_TERMS = 4
"""Counters that the offset of an operand may depend on."""
LEAST_TURNS = 3
"""Turns of a loop from which on a map takes less time: its start takes as long as one more turn."""
VALUE = "value"
"""Counter that holds the register's value in a map."""
WALK_REGISTER = 1
"""Number of the data-structure registers of a map."""
Point = Mapping[int, Index]


@dataclass(frozen=True, slots=True)
class ElementKernel:
    """The loops of an element below its tiles, and the vector operation inside.

    `read`: the mapping as loops in space and time; `layouts`: of the tiles in memory, by tensor.
    Loops in time have numbers, outermost first. `outer`: the loops around the operation. `vector`:
    the loops that the operation itself runs over. `walks`: whether the innermost of the outer loops
    is a map, whose operation goes on in memory where its last turn ended. `loops[tensor]`: (turns,
    values by which a turn moves) of each dimension of the tensor's descriptor; loops over
    consecutive values of all tensors are one dimension. `bodies`: a cache of instructions that
    several roles share.
    """

    read: SpaceTime
    layouts: Mapping[str, TileLayout]
    outer: tuple[int, ...]
    vector: tuple[int, ...]
    loops: Mapping[str, tuple[tuple[int, int], ...]]
    walks: bool = False
    bodies: dict[Hashable, tuple[Instruction, ...]] = field(default_factory=dict, compare=False)

    @property
    def elements(self) -> int:
        """Number of values of the output that one vector operation computes."""
        turns = 1
        for count, _ in self.loops[self.read.output.name]:
            turns *= count
        return turns


def vector_loops(read: SpaceTime) -> tuple[int, ...]:
    """Return the numbers of the loops in time that one vector operation runs over.

    If an input is a scalar in the engine's register, these are the loops below it. Else they are
    the loops of the work on a tile that index the output: as many of the innermost ones as the
    descriptors have strides.
    """
    numbers = range(read.kernel, len(read.time))
    if read.scalar is not None:
        return tuple(range(read.scalar_depth, len(read.time)))
    plain = [n for n in numbers if not read.is_reduced(read.time[n].variable)]
    return tuple(plain[-(STRIDE_REGISTERS // len(read.tensors)) :])


def kernel_of(read: SpaceTime) -> ElementKernel:
    """Return the kernel of a mapping, with the layouts of its tiles.

    Raises InfeasibleMapping if a descriptor would need more than four dimensions, descriptors
    together more than eight strides, an offset more than four counters, or the formula a function
    without instructions.
    """
    vector = vector_loops(read)
    kernel = _kernel_of(read, vector)
    while _strides(kernel) > STRIDE_REGISTERS and read.scalar is None:
        vector = vector[1:]
        kernel = _kernel_of(read, vector)
    if _strides(kernel) > STRIDE_REGISTERS:
        raise InfeasibleMapping(
            f"the descriptors of a vector operation of {read.einsum.name} have {_strides(kernel)} "
            f"strides, the machine's registers {STRIDE_REGISTERS}",
            instead=f"fewer loops below the register of {read.scalar}",
        )
    return kernel


def _strides(kernel: ElementKernel) -> int:
    """Return the most stride registers of the machine's own operations in a kernel.

    A descriptor takes none for its innermost dimension, nor for the next one if the innermost
    stride is 1 (theory/wafer.md §6.3). A later visit of an output value reads it beside the inputs.
    Maps load two inputs at a time, which always fit.
    """
    read = kernel.read
    taken = {
        name: max(0, len(loops) - (2 if loops and loops[-1][1] == 1 else 1))
        for name, loops in kernel.loops.items()
    }
    first, later = sum(taken.values()), sum(taken.values()) + taken[read.output.name]
    visits = [(True, first), *((visit, later) for visit in _later_visits(read))]
    return max(n if _operation_of(read, first=visit) is not None else 0 for visit, n in visits)


def _kernel_of(read: SpaceTime, vector: tuple[int, ...]) -> ElementKernel:
    """Return the kernel whose vector operation runs over some loops."""
    layouts = {tensor.name: tile_layout(read, tensor, vector) for tensor in read.tensors}
    outer = tuple(n for n in range(read.kernel, len(read.time)) if n not in vector)
    inside = [name for name in layouts if name != read.scalar]
    joined = _joined([read.time[n] for n in vector], vector, [layouts[name] for name in inside])
    _check_dimensions(read, len(joined[0]) if joined else 0)
    for layout in layouts.values():
        _check_terms(read, layout, vector)
    _check_operations(read)
    kernel = ElementKernel(read, layouts, outer, vector, dict(zip(inside, joined, strict=True)))
    return replace(kernel, walks=can_walk(kernel))


def _check_dimensions(read: SpaceTime, loops: int) -> None:
    """Check that a descriptor has a dimension for each loop of a vector operation."""
    if loops > MOST_DIMENSIONS:
        raise InfeasibleMapping(
            f"a vector operation of {read.einsum.name} runs over {loops} loops",
            instead="at most four below the register: a descriptor has four dimensions",
        )


def _check_operations(read: SpaceTime) -> None:
    """Check that the machine has instructions for the first and later visits of an output value.

    Raises InfeasibleMapping if it has none.
    """
    names = [_operation_of(read, first=first) for first in (True, False)]
    has_sums = any(read.is_reduced(name) for name in read.einsum.bounds)
    if names[0] is not None and (names[1] is not None or not has_sums):
        return
    scalar_steps(read.einsum, read.numbers)  # raises for a function without instructions


def _check_terms(read: SpaceTime, layout: TileLayout, vector: tuple[int, ...]) -> None:
    """Check that the address of an operand in memory depends on no more than four loops."""
    moving = [n for n, move in enumerate(layout.moves) if move and n not in vector]
    counters = len(moving) + (layout.tensor.buffers > 1)
    if counters > MOST_TERMS:
        names = ", ".join(read.time[number].variable for number in moving)
        raise InfeasibleMapping(
            f"the place of {layout.tensor.name} in memory depends on {counters} counters "
            f"({names}), the machine's offsets on {MOST_TERMS}",
            instead=f"smaller tiles of {layout.tensor.name}, or fewer loops on a tile",
        )


def _joined(
    loops: Sequence[TimeLoop], numbers: Sequence[int], layouts: Sequence[TileLayout]
) -> list[tuple[tuple[int, int], ...]]:
    """Return the (turns, move) pairs of each descriptor's dimensions, outermost first.

    numbers: places of the loops among all; a layout says by how many values a loop moves. Loops of
    which one goes on where the other ends, for all layouts, become one dimension.
    """
    dimensions: list[list[tuple[int, int]]] = [[] for _ in layouts]
    for loop, number in zip(loops, numbers, strict=True):
        moves = [layout.moves[number] for layout in layouts]
        is_stretch = bool(dimensions[0]) and all(
            done[-1][1] == loop.count * move for done, move in zip(dimensions, moves, strict=True)
        )
        for done, move in zip(dimensions, moves, strict=True):
            count = done.pop()[0] * loop.count if is_stretch else loop.count
            done.append((count, move))
    return [tuple(done) for done in dimensions]


def declare_vectors(code: CodeBuilder, kernel: ElementKernel) -> None:
    """Declare the descriptors `<tensor>_vector` of the vector operation in an element's code.

    A kernel with a map around it also gets `<tensor>_walk`, the scalar input's values along the
    innermost loop, and `<tensor>_rest`, those behind the first.
    """
    for name, loops in kernel.loops.items():
        if is_line(loops):
            extent, stride = loops[0] if loops else (1, 1)
            code.mem1d(f"{name}_vector", name, extent=extent, stride=stride)
        else:
            code.mem4d(f"{name}_vector", name, loops=loops)
    if kernel.walks:
        _declare_walk(code, kernel)


def can_walk(kernel: ElementKernel) -> bool:
    """Return whether a map can do the innermost loop around the operation of a kernel.

    Needed: the operation is the machine's own and has a scalar input, which changes in each turn;
    the loop has at least LEAST_TURNS turns; the vectors are consecutive in memory; one turn of the
    loop leaves each vector where it is, or moves it just behind its end.
    """
    read = kernel.read
    if read.scalar is None or not kernel.outer:
        return False
    number = kernel.outer[-1]
    loop = read.time[number]
    stride = kernel.layouts[read.scalar].moves[number]
    if loop.count < LEAST_TURNS or not 1 <= stride <= MOST_STRIDE:
        return False
    visits = (False,) if read.is_reduced(loop.variable) else (True, *_later_visits(read))
    names = [_operation_of(read, first=first) for first in visits]
    if None in names or (visits[0] and names[0] == WIDENING_PRODUCT):  # a move and an addition
        return False
    return all(_walks_on(kernel, name) for name in kernel.loops)


def _walks_on(kernel: ElementKernel, name: str) -> bool:
    """Return whether a turn of the innermost loop leaves a vector, or moves it behind its end.

    A vector with gaps has its end elsewhere than behind as many elements as it has values.
    """
    loops, turn = kernel.loops[name], _turn(kernel, name)
    is_dense = not loops or loops[0][1] == 1
    return is_line(loops) and (turn == 0 or (is_dense and turn == kernel.elements))


def is_line(loops: Sequence[tuple[int, int]]) -> bool:
    """Return whether a descriptor has one dimension, and a stride that one has room for."""
    return not loops or (len(loops) == 1 and abs(loops[0][1]) <= MOST_STRIDE)


def _later_visits(read: SpaceTime) -> tuple[bool, ...]:
    """Return (False,) if values of the output are visited again, else (): the values of `first`."""
    return (False,) if any(read.is_reduced(loop.variable) for loop in read.time) else ()


def _turn(kernel: ElementKernel, name: str) -> int:
    """Return the elements by which a turn of the innermost loop moves in the tile of a tensor."""
    return kernel.layouts[name].moves[kernel.outer[-1]]


def _declare_walk(code: CodeBuilder, kernel: ElementKernel) -> None:
    """Declare the values of the register along the loop that a map does, all and behind the first.

    The vectors of the walk are stretches of memory.
    """
    scalar = kernel.read.scalar
    assert scalar is not None  # can_walk
    count, stride = kernel.read.time[kernel.outer[-1]].count, _turn(kernel, scalar)
    code.mem1d(f"{scalar}_walk", scalar, extent=count, stride=stride)
    code.mem1d(f"{scalar}_rest", scalar, extent=count - 1, stride=stride)


def _walk(task: TaskBuilder, kernel: ElementKernel, point: Point, *, first: bool) -> None:
    """Append the innermost loop as a map over the values of the scalar input.

    The registers of the vectors are loaded once; those that the loop moves save their address. A
    loop of sums whose first visit is done (`first` is False and the point stands behind it) has one
    turn less.
    """
    read, number = kernel.read, kernel.outer[-1]
    scalar = read.scalar
    name = _operation_of(read, first=first)
    assert scalar is not None  # can_walk
    assert name is not None
    output, inputs = _vector(kernel, read.output.name, point), _inputs(kernel, point)
    operands: list[Register | Index] = []
    for place, operand in enumerate((output, *_sources(name, read, output, inputs, first=first))):
        if not isinstance(operand, Ref):
            operands.append(variable(VALUE))
            continue
        moves = _turn(kernel, operand.dsd.removesuffix("_vector")) > 0
        register = Register(FILES[place], WALK_REGISTER)
        task.load(register, operand, save_address=moves)
        operands.append(register)
    begun = point[number] != Index(0)
    values = Ref(f"{scalar}_rest" if begun else f"{scalar}_walk")
    with task.map((VALUE, values.at(element_offset(kernel, scalar, point)))):
        task.op(name, *operands, label=COMPUTE)


def emit_kernel(task: TaskBuilder, kernel: ElementKernel, point: Point, *, first: bool) -> None:
    """Append the work on one tile to a task.

    `point`: counters that hold the turn of each loop above the tile, and at `-1` the buffer in use.
    `first`: the output tile has no values yet, so that the first visit of each of its values writes
    without reading (theory/model.md §3.3).
    """
    key = first, tuple(point.items())
    if key not in kernel.bodies:
        body = TaskBuilder("kernel")
        _nest(body, kernel, kernel.outer, point, first=first)
        kernel.bodies[key] = body.body
    task.extend(kernel.bodies[key])


def _nest(
    task: TaskBuilder, kernel: ElementKernel, loops: tuple[int, ...], point: Point, *, first: bool
) -> None:
    if not loops:
        _operation(task, kernel, point, first=first)
        return
    number, inner = loops[0], loops[1:]
    loop = kernel.read.time[number]
    begun, mark = 0, "f" if first else ""
    if first and kernel.read.is_reduced(loop.variable):
        _nest(task, kernel, inner, {**point, number: Index(0)}, first=True)
        begun, mark, first = 1, "r", False
    if kernel.walks and not inner:
        _walk(task, kernel, {**point, number: Index(begun)}, first=first)
        return
    with task.loop(f"{loop.variable}_{number}{mark}", loop.count - begun) as turn:
        _nest(task, kernel, inner, {**point, number: turn + begun}, first=first)


def _operation(task: TaskBuilder, kernel: ElementKernel, point: Point, *, first: bool) -> None:
    read = kernel.read
    output, inputs = _vector(kernel, read.output.name, point), _inputs(kernel, point)
    name = _operation_of(read, first=first)
    if name is None:
        map_formula(task, read, output, inputs, first=first)
        return
    if first and name == WIDENING_PRODUCT:  # it only adds
        task.op(move_of(read.dtype), output, 0.0, label="zero")
        first = False
    sources = _sources(name, read, output, inputs, first=first)
    task.op(name, output, *sources, label=COMPUTE)


def _inputs(kernel: ElementKernel, point: Point) -> list[Ref | Element]:
    """Return the inputs of the operation at a point: vectors, and the value of the register."""
    return [
        Element(tensor.name, element_offset(kernel, tensor.name, point))
        if tensor.name == kernel.read.scalar
        else _vector(kernel, tensor.name, point)
        for tensor in kernel.read.inputs
    ]


def _vector(kernel: ElementKernel, name: str, point: Point) -> Ref:
    return Ref(f"{name}_vector").at(element_offset(kernel, name, point))


def element_offset(kernel: ElementKernel, name: str, point: Point) -> Index:
    """Return the index, in a tensor's buffer, of the value at a point of the loops.

    `point`: turn of each loop in time; `point[-1]` is the number of the buffer in use, 0 or 1. The
    result depends on counters.
    """
    layout = kernel.layouts[name]
    offset = layout.element(_inside(point))
    if layout.tensor.buffers > 1:
        offset = offset + point[-1] * layout.tensor.values
    return offset


def _inside(point: Point) -> Point:
    return {number: turn for number, turn in point.items() if number >= 0}


def _operation_of(read: SpaceTime, *, first: bool) -> str | None:
    has_scalar = read.scalar is not None
    name = own_operation(read.einsum, read.numbers, first=first, has_scalar=has_scalar)
    if name == "sub16" and read.scalar == read.inputs[0].name:
        return None  # it has no form that takes a vector from a scalar
    return name


def _sources(
    name: str, read: SpaceTime, output: Ref, inputs: list[Ref | Element], *, first: bool
) -> list[Ref | Element | float]:
    tree = expression(read.einsum)
    if first:
        return [*inputs, 0.0] if isinstance(tree, ast.Call) and len(inputs) == 1 else [*inputs]
    if name.startswith("fmac"):  # the vector before the scalar
        return [output, *sorted(inputs, key=lambda operand: isinstance(operand, Element))]
    return [*inputs, output] if name == WIDENING_SUM else [output, *inputs]
