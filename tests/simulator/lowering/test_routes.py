"""Routes: words followed through the routers reach the elements that need them, and the border."""

from collections import Counter
from itertools import pairwise

import numpy as np
from fabric_walk import passes, routes_at, way_of
from grid_mappings import END, HOST, OVER_K, OVER_N, WHOLE, WORK, read
from grid_points import element, index, numbered, plans, point, shares, turns, visit

from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.mapping.mapping import Spatial, Storage
from tilewright.simulator.execution.drawn_operands import operand_shape
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of
from tilewright.simulator.lowering.routes import exit_ports, input_color, input_port
from tilewright.simulator.lowering.tile_values import run_inputs
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import CounterFilter, EdgeInput, EdgeOutput

ENTRY = {
    "W": lambda number: (number, 0),
    "N": lambda number: (0, number),
}


def received(program: Program, port: EdgeInput, words: np.ndarray) -> dict[tuple[int, int], list]:
    """What each element gets of the streams of a port: walk to it, then its filter."""
    result: dict[tuple[int, int], list] = {}
    for number in range(port.positions):
        way = way_of(program, port.color, ENTRY[port.side](port.first + number), port.side)
        assert not way.left, "a word of an input leaves the grid"
        for place in way.received:
            assert place not in result, "two streams reach one element"
            (route,) = routes_at(program, port.color, place)
            assert route.filter is None or isinstance(route.filter, CounterFilter)
            result[place] = [words[number, word] for word in passes(port.count, route.filter)]
    return result


def test_every_element_gets_the_tiles_that_its_loops_read() -> None:
    """At each turn of the loops the kernel's place in the tile has the value that Einsum reads."""
    compared = 0
    for seed, plan in plans(0, 24):
        read, program = plan.read, program_of(plan)
        operands = {
            tensor.name: numbered(operand_shape(read.einsum, tensor.name), read.dtype)
            for tensor in read.inputs
        }
        _, edges = run_inputs(plan, operands)
        for stream in plan.streams:
            tensor = stream.tensor
            (port,) = (p for p in program.edge_inputs if p.name == input_port(tensor.name))
            got = received(program, port, edges[port.name])
            assert set(got) == set(shares(read))
            for place, share in shares(read).items():
                words = np.array(got[place])
                assert (port.dtype == "u32") == (words.dtype == np.uint32)  # pairs of f16
                values = words.view(np.float16) if port.dtype == "u32" else words
                tiles = values.reshape(read.visits(tensor), tensor.values)
                for turn in turns(read):
                    value = tiles[visit(read, tensor, turn), element(plan, tensor.name, turn)]
                    wanted = operands[tensor.name][index(tensor, point(read, share, turn))]
                    assert value == wanted, (seed, tensor.name, place, turn)
                    compared += 1
    assert compared > 1000


def links_used(plan: Plan, program: Program) -> int:
    """Words times links of one run, each word of a stream followed."""
    total = 0
    for port in program.edge_inputs:
        for number in range(port.positions):
            total += (
                port.count * way_of(program, port.color, ENTRY[port.side](number), port.side).hops
            )
    values = plan.read.visits(plan.read.output) * plan.read.output.values
    paired = plan.read.dtype == "f16" and plan.read.output.values % 2 == 0
    words = values // 2 if paired else values
    for place in np.ndindex(plan.placement.shape):
        role = plan.roles[plan.placement[place]]
        if role.send is not None:
            total += (1 + role.passed) * words * way_of(program, role.send, place, "R").hops
    return total


def test_the_links_crossed_are_the_hops_that_are_predicted() -> None:
    hops = []
    for seed, plan in plans(0, 60):
        hops.append(predict(plan.read).get(f"{plan.read.einsum.name}/Fabric/None/hop", 0))
        assert links_used(plan, program_of(plan)) == hops[-1], seed
    assert sum(number > 0 for number in hops) >= 30


def test_what_an_element_sends_arrives_where_a_role_receives_it() -> None:
    """Each color that a role receives brings one sum, and none arrives that nobody receives."""
    sums = 0
    for seed, plan in plans(0, 90):
        program = program_of(plan)
        arrived: Counter[tuple[str, tuple[int, int]]] = Counter()
        left = Counter[tuple[str, tuple[int, int]]]()
        for place in np.ndindex(plan.placement.shape):
            role = plan.roles[plan.placement[place]]
            if role.send is not None:
                way = way_of(program, role.send, place, "R")
                assert len(way.received) + len(way.left) == 1, (seed, place)
                arrived.update((role.send, to) for to in way.received)
                left.update(way.left)
        wanted = Counter(
            (color, place)
            for place in np.ndindex(plan.placement.shape)
            for role in [plan.roles[plan.placement[place]]]
            for color in (*role.receives, *([role.passes] if role.passes else []))
        )
        assert arrived == wanted, seed
        assert left == Counter(
            (port.side, place) for port in program.edge_outputs for place in border(port, program)
        ), seed
        sums += len(wanted)
    assert sums > 100


def border(port: EdgeOutput, program: Program) -> list[tuple[int, int]]:
    """The elements at the positions of a port."""
    places = range(port.first, port.first + port.positions)
    if port.side == "E":
        return [(place, program.width - 1) for place in places]
    return [(program.height - 1, place) for place in places]


def example(*shared: Spatial, scheme: str = "") -> Plan:
    stored = (Storage(("A",), "SRAM"), Storage(("Z",), "SRAM", reduction=scheme))
    return plan_of(read([HOST, *shared, WHOLE, *stored, *WORK, END]))


def test_each_element_filters_its_own_tile_of_a_period() -> None:
    """m over 4 columns and 2 rows: a column's stream has 2 tiles of 1 x 12, the upper row's first.

    Of each 24 words the upper row takes 0 to 11, the lower row 12 to 23.
    """
    program = program_of(example(Spatial("m", 2, "X", "Grid"), Spatial("m", 1, "Y", "Grid")))
    for row, expected in ((0, range(12)), (1, range(12, 24))):
        for column in range(4):
            (route,) = routes_at(program, input_color("A"), (row, column))
            assert isinstance(route.filter, CounterFilter)
            assert passes(48, route.filter) == [*expected, *(24 + word for word in expected)]


def test_neighbouring_links_of_a_chain_have_two_colors() -> None:
    """An element receives on one color and sends on the other, in chains with and without gaps."""
    for scheme in ("chain", "two_phase(2)", "tree"):
        plan = example(OVER_K, OVER_N, scheme=scheme)
        for role in plan.roles:
            assert role.send not in role.receives
        for phase in plan.sums.phases:
            for chain in phase.chains:
                assert all(before < after for before, after in pairwise(chain.positions))


def test_results_leave_by_a_port_for_each_stretch_of_columns() -> None:
    """k over pairs of columns, m over two pairs: columns 1 and 3 have results, no neighbours."""
    plan = example(Spatial("m", 4, "X", "Grid"), Spatial("k", 6, "X", "Grid"), OVER_N)
    assert exit_ports(plan.read, plan.sums) == (("out_1", range(1, 2)), ("out_3", range(3, 4)))
    whole = example(OVER_K, OVER_N)
    assert exit_ports(whole.read, whole.sums) == (("out", range(2)),)
