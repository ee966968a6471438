"""Values as the elements see them, compared with plain loops over elements and indices."""

import numpy as np
import pytest
from explore import at_night
from grid_mappings import END, HOST, LOOP, OVER_K, OVER_N, TILES, WHOLE, WORK, read
from grid_points import element, index, numbered, plans, point, shares, turns, visit

from tilewright.mapper.mapping.mapping import Storage
from tilewright.simulator.execution.drawn_operands import operand_shape
from tilewright.simulator.lowering.number_operations import NUMPY
from tilewright.simulator.lowering.plan import Plan, plan_of
from tilewright.simulator.lowering.routes import exit_ports
from tilewright.simulator.lowering.tile_values import output_of, run_inputs


def test_the_words_of_the_example() -> None:
    """Column c gets A[2t + i, 3c + j] at word 6t + 3i + j; element (y, c) has B[3c + j, 3y + l]."""
    plan = plan_of(read([HOST, OVER_K, OVER_N, WHOLE, LOOP, TILES, *WORK, END]))
    a, b = numbered((8, 12), "f32"), numbered((12, 6), "f32")
    memory, edges = run_inputs(plan, {"A": a, "B": b})
    assert edges["edge_A"].shape == (4, 24)
    assert memory["B"].shape == (2, 4, 1, 9)
    for c in range(4):
        for t, i, j in np.ndindex(4, 2, 3):
            assert edges["edge_A"][c, 6 * t + 3 * i + j] == a[2 * t + i, 3 * c + j]
        for y, j, k in np.ndindex(2, 3, 3):
            assert memory["B"][y, c, 0, 3 * j + k] == b[3 * c + j, 3 * y + k]


def test_residents_lie_where_the_kernel_reads_them() -> None:
    compared = 0
    for seed, plan in plans(0, 80):
        operands = {
            tensor.name: numbered(operand_shape(plan.read.einsum, tensor.name), plan.read.dtype)
            for tensor in plan.read.inputs
        }
        memory, _ = run_inputs(plan, operands)
        assert set(memory) == {t.name for t in plan.read.inputs if t.resident}
        for name, values in memory.items():
            tensor = plan.read.tensor(name)
            for place, share in shares(plan.read).items():
                for turn in turns(plan.read):
                    got = values[place][0, element(plan, name, turn)]
                    at = index(tensor, point(plan.read, share, turn))
                    assert got == operands[name][at], (seed, name, place, turn)
                    compared += 1
    assert compared > 10_000


def test_values_outside_a_tensor_are_zero() -> None:
    """A of 7 rows in tiles of 2: the last row of the last tile is not there."""
    plan = plan_of(read([HOST, OVER_K, OVER_N, WHOLE, LOOP, TILES, *WORK, END]))
    _, edges = run_inputs(plan, {"A": numbered((7, 12), "f32"), "B": numbered((12, 6), "f32")})
    assert edges["edge_A"][:, :-3].all()
    assert not edges["edge_A"][:, -3:].any()


def written(plan: Plan) -> dict[tuple[int, ...], tuple[tuple[int, int], int, int]]:
    """Which element has each value of the output at the end: (element, visit, place in the tile).

    The sums end in the last element of each group of neighbours.
    """
    read, sums = plan.read, plan.sums
    result = {}
    for (row, column), share in shares(read).items():
        if (row + 1) % sums.group_rows or (column + 1) % sums.group_columns:
            continue
        for turn in turns(read):
            at = index(read.output, point(read, share, turn))
            place = element(plan, read.output.name, turn)
            where = (row, column), visit(read, read.output, turn), place
            assert result.setdefault(at, where) == where
    return result


def left(plan: Plan, output: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The memories and the words at the border at the end of a run that computed `output`.

    An element that gathers sends its own tile before those from the north; two f16 leave in a word
    if a tile has an even number. Memories begin with zeros, which stay where no value of the output
    lies.
    """
    read, sums = plan.read, plan.sums
    values, visits = read.output.values, read.visits(read.output)
    heads = range(sums.group_rows - 1, read.rows, sums.group_rows)
    memory = np.zeros((read.rows, read.columns, 1, values))
    edges = {}
    for name, places in [] if sums.exit == "none" else exit_ports(read, sums):
        words = visits * values * (len(heads) if sums.exit == "gather" else 1)
        edges[name] = np.zeros((len(places), words), NUMPY[read.dtype])
    for at, ((row, column), number, place) in written(plan).items():
        memory[row, column, 0, place] = output[at]
        side = row if sums.exit == "east" else column
        for name, places in exit_ports(read, sums) if edges else ():
            if side in places:
                sent = number
                if sums.exit == "gather":
                    sent = number * len(heads) + len(heads) - 1 - heads.index(row)
                edges[name][places.index(side), sent * values + place] = output[at]
    if read.dtype == "f16" and values % 2 == 0:
        edges = {name: words.view(np.uint32) for name, words in edges.items()}
    return ({read.output.name: memory} if sums.exit == "none" else {}), edges


@pytest.mark.parametrize("first", [0, *at_night(500)])
def test_the_output_is_put_together_from_where_it_was_computed(first: int) -> None:
    exits = set()
    for seed, plan in plans(first, 30):
        shape = tuple(max(at) + 1 for at in zip(*written(plan), strict=True))
        output = np.zeros(shape)
        for number, at in enumerate(sorted(written(plan))):
            output[at] = number + 1
        result = output_of(plan, *left(plan, output))
        cut = tuple(slice(size) for size in result.shape)  # behind it is padding
        assert np.array_equal(result, output[cut]), seed
        assert result.size == output.size or plan.read.padding_share > 0
        exits.add(plan.sums.exit)
    assert exits >= {"south", "east", "gather"}


def test_a_resident_output_is_read_from_the_memories() -> None:
    stored = Storage(("A", "Z"), "SRAM")
    plan = plan_of(read([Storage(("A",), "Host"), OVER_K, OVER_N, WHOLE, stored, *WORK, END]))
    assert plan.sums.exit == "none"
    output = np.arange(48.0).reshape(8, 6)
    assert np.array_equal(output_of(plan, *left(plan, output)), output)
