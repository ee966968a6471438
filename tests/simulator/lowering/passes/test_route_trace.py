"""The check of routes finds a route that is missing, too short, or leads to nobody."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.simulator.lowering.passes.test_pass_checks import PLANS

from tilewright.simulator.lowering.passes.pass_checks import PassError
from tilewright.simulator.lowering.passes.route_trace import check_routes
from tilewright.simulator.lowering.plan import program_of


def test_every_change_of_a_route_is_found() -> None:
    """Each route of each program left out, and each with a way more."""
    changed = 0
    for plan, _ in PLANS:
        program = program_of(plan)
        assert check_routes(program)
        for number, route in enumerate(program.routes):
            others = program.routes[:number], program.routes[number + 1 :]
            with pytest.raises(PassError, match=f"color {route.color} at"):
                check_routes(replace(program, routes=(*others[0], *others[1])))
            more = replace(route, tx=(*route.tx, "R" if "R" not in route.tx else "N"))
            with pytest.raises(PassError, match="disagrees"):
                check_routes(replace(program, routes=(*others[0], more, *others[1])))
            changed += 2
    assert changed > 100


def test_a_port_at_the_border_that_is_missing_is_found() -> None:
    program = next(p for p in map(program_of, (plan for plan, _ in PLANS)) if p.edge_inputs)
    with pytest.raises(PassError, match="a neighbour disagrees"):
        check_routes(replace(program, edge_inputs=program.edge_inputs[1:]))
