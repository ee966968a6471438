"""Networks of one topology are compiled once; nothing of the program before stays in them."""

from dataclasses import fields, replace

import numpy as np
import pytest
from grid_points import plans
from machine_programs import random_case
from special_programs import special_case

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile.fabric import topology
from tilewright.simulator.compile.fabric.connections import SteeredTables
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.fabric.network_compiler import compile_network
from tilewright.simulator.examples.known_costs import chain_reduce, relay
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import CounterFilter, Route
from tilewright.simulator.run.machine import Machine

GENERIC = load_profile("generic")


def same(found: FifoNetwork | SteeredTables, expected: FifoNetwork | SteeredTables) -> bool:
    names = [f.name for f in fields(found)]
    if isinstance(found, FifoNetwork):
        names.remove("steered")
        if not same(found.steered, expected.steered):  # type: ignore[union-attr]
            return False
    pairs = [(getattr(found, name), getattr(expected, name)) for name in names]
    return all(
        all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))
        if isinstance(mine, tuple)
        else np.array_equal(mine, theirs)
        for mine, theirs in pairs
    )


def check(program: Program, changes: dict[str, object] | None = None) -> Machine:
    profile = GENERIC.with_values(changes or {})
    machine = Machine(program, profile)
    assert same(
        machine.compiled.network, compile_network(program, machine.compiled.layouts, profile)
    )
    return machine


def test_random_programs_one_after_the_other() -> None:
    for seed in range(25):
        case = random_case(seed)
        check(case.program)
        check(case.program, {"router_buffer_words": 3})
        counts = [replace(port, count=port.count + 5) for port in case.program.edge_inputs]
        outs = [replace(port, count=port.count + 5) for port in case.program.edge_outputs]
        more = replace(case.program, edge_inputs=tuple(counts), edge_outputs=tuple(outs))
        check(more)
        check(special_case(seed).program)


def test_other_words_same_topology() -> None:
    topology.forget_networks()
    kinds = [check(chain_reduce(6, words)).compiled.network.kind for words in (4, 9, 300)]
    assert kinds[0] is kinds[1] is kinds[2]
    assert check(chain_reduce(7, 4)).compiled.network.kind is not kinds[0]


def more_pass(route: Route) -> Route:
    counter = route.filter
    if not isinstance(counter, CounterFilter):
        return route
    return replace(route, filter=replace(counter, limit=counter.limit + 3, most=counter.most + 1))


def test_other_numbers_of_filters_same_topology() -> None:
    reused = 0
    for _, plan in plans(0, 60):
        program = program_of(plan)
        kind = check(program).compiled.network.kind
        other = tuple(map(more_pass, program.routes))
        if other != program.routes:
            reused += check(replace(program, routes=other)).compiled.network.kind is kind
    assert reused > 5


def test_the_networks_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    topology.forget_networks()
    first = check(relay(3, 4)).compiled.network.kind
    monkeypatch.setattr(topology, "MOST_FIFOS", 4 * first.size)
    assert check(relay(3, 9)).compiled.network.kind is first
    for stages in (2, 4, 5, 6):
        check(relay(stages, 4))
        check(relay(3, 4))
    assert check(relay(3, 4)).compiled.network.kind is first
    for stages in (2, 4, 5, 6):
        check(relay(stages, 4))
    assert sum(network.kind.size for network in topology._KEPT.values()) <= 4 * first.size
    assert check(relay(3, 4)).compiled.network.kind is not first


def test_memo_knows_the_last_objects_by_identity() -> None:
    memo, made = IdentityCache(2), []
    first, equal, third = [1], [1], [2]
    for owner in (first, first, equal, third, first):
        memo.of(owner, "key", lambda owner=owner: made.append(owner))
    assert [id(owner) for owner in made] == [id(o) for o in (first, equal, third, first)]
