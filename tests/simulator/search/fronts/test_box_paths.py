"""The paths in a box are those of all paths, one by one, that no other beats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import inf

import pytest
from cascades import cascade_arch, cascade_workload
from explore import at_night

from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.fronts import box_paths
from tilewright.simulator.search.fronts.box_paths import BoxPaths
from tilewright.simulator.search.fronts.cascade_items import CascadeItems
from tilewright.simulator.search.fronts.front_boxes import FrontBox, unbeaten
from tilewright.simulator.search.grid_certificate import Costs, PricedTime
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of
from tilewright.simulator.search.paths.path_graph import PathsLeft

EVERYWHERE = FrontBox(Costs(inf, inf), PricedTime(0.02))


def cascade(name: str) -> Cascade:
    workload = cascade_workload(name)
    return cascade_of(cascade_arch(2, 2), workload, GridRequest(), counts_energy=True)


def never() -> bool:
    return False


def all_paths(paths: Cascade, items: CascadeItems) -> list[Costs]:
    """The sums of all paths, by the bounds of all mappings that fit."""

    def behind(state: int) -> Iterator[Costs]:
        number, _ = paths.graph.states[state]
        if number == paths.graph.depth:
            yield Costs(0.0, 0.0)
            return
        table = paths.graph.steps_from(state)
        for step, target in zip(table.steps, table.targets.tolist(), strict=True):
            front, words = items.of_search(step.search)
            bounds = [move.bounds for move in step.moves]
            for item in front.items:
                if item.words <= words:
                    here = [item.entry.bounds, *bounds]
                    latency, energy = map(sum, zip(*here, strict=True))
                    for rest in least[target]:
                        yield Costs(latency + rest.latency, energy + rest.energy)

    least: dict[int, list[Costs]] = {}
    layers = [paths.graph.starts]
    for _ in range(paths.graph.depth):
        found = (t for s in layers[-1] for t in paths.graph.steps_from(s).targets.tolist())
        layers.append(sorted(set(found)))
    for layer in reversed(layers):
        for state in layer:
            least[state] = unbeaten(behind(state))
    return unbeaten(costs for start in paths.graph.starts for costs in least[start])


@pytest.mark.parametrize(
    "name", ["smoothing", "normalized rows", *at_night("product, row sums", "read twice")]
)
def test_no_path_in_a_box_is_left_out(name: str) -> None:
    paths = cascade(name)
    items = CascadeItems(paths)
    front = all_paths(paths, items)
    assert len(front) > 1
    corner = Costs(0.999 * front[-1].latency, 0.999 * front[0].energy)
    latency, energy = front[len(front) // 2]
    middle = Costs(1.001 * latency, 1.001 * energy)
    for below in (EVERYWHERE.below, corner, Costs(inf, corner.energy), middle):
        box = FrontBox(below, EVERYWHERE.objective)
        search = BoxPaths(paths, items, box, never)
        inside = [c for c in front if c.latency < below.latency and c.energy < below.energy]
        values = sorted(c.value(box.objective) for c in inside)
        for limit in (inf, *(a / 2 + b / 2 for a, b in pairwise(values))):
            found = search.below(limit)
            expected = [c for c in inside if c.value(box.objective) < limit]
            costs = sorted(path.costs for path in found)
            assert len(costs) == len(expected)
            for a, b in zip(costs, expected, strict=True):
                assert a == pytest.approx(b, rel=1e-12)
            assert all(search.least <= c.value(box.objective) * (1 + 1e-12) for c in costs)


def test_a_path_has_the_sum_of_its_parts() -> None:
    paths = cascade("smoothing")
    items = CascadeItems(paths)
    for path in BoxPaths(paths, items, EVERYWHERE, never).below(inf):
        assert len(path.parts) == 2
        assert not path.is_exact
        each = [part.item.entry.bounds for part in path.parts]
        each += [move.bounds for move in path.moves]
        latency, energy = map(sum, zip(*each, strict=True))
        assert path.costs == pytest.approx((latency, energy))


def test_what_takes_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = cascade("elementwise chain")
    items = CascadeItems(paths)
    with pytest.raises(PathsLeft):
        BoxPaths(paths, items, EVERYWHERE, lambda: True).below(inf)
    monkeypatch.setattr(box_paths, "MOST_LABELS", 1)
    with pytest.raises(PathsLeft):
        BoxPaths(paths, items, EVERYWHERE, never).below(inf)
