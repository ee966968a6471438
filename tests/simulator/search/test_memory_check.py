"""What the check of the elements' memory refuses has no mapping, by the whole search."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.shipped import studies_folder
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.search.grid_mapping import GridRequest, map_on_grid
from tilewright.simulator.search.memory_check import check_memory, least_words

CODE_BYTES = 4176
"""Of the machine's own code in an element."""


def wafer(columns, rows, free_bytes):
    arch = load_arch(studies_folder() / "hardware" / "wafer_grid.yaml")
    sizes = {"variables.GridX": columns, "variables.GridY": rows}
    return arch.with_values({**sizes, "SRAM.size": 8 * (CODE_BYTES + free_bytes)})


def feed_forward(scale=256, tokens=2):
    path = studies_folder() / "workloads" / "llama_feed_forward.yaml"
    return load_workload(path, variables={"SCALE": scale, "TOKENS": tokens})


def constraints(draw):
    choices = {
        "tile": draw.choice(["none", "free"]),
        "weights": draw.choice(["resident", "resident", "free"]),
    }
    return GridConstraints.of(choices)


def error_of(function, *arguments):
    try:
        function(*arguments)
    except InfeasibleMapping as error:
        return error
    return None


def test_what_is_refused_has_no_mapping_and_nearly_all_that_has_none_is_refused():
    draw, found = random.Random(4), {True: [], False: []}
    for _ in range(40):
        arch = wafer(draw.choice([1, 2, 4]), draw.choice([1, 2]), draw.choice([500, 2000, 5000]))
        asked = {name: constraints(draw) for name in ("up", "down")}
        request = GridRequest(constraints=asked, most_executions=1)
        refused = error_of(check_memory, arch, feed_forward(), request)
        missing = error_of(map_on_grid, arch, feed_forward(), request)
        assert missing is not None or refused is None, asked
        found[missing is not None].append(refused is not None)
    assert len(found[False]) >= 8
    assert not any(found[False])
    assert len(found[True]) >= 8
    assert sum(found[True]) >= 0.9 * len(found[True])


def test_an_einsum_that_takes_too_much_is_named_with_its_bytes():
    asked = {"down": GridConstraints(tile="none")}
    with pytest.raises(NoFeasibleMapping, match=r"no mapping of down .* of which 1,000 are free"):
        check_memory(wafer(2, 2, 1000), feed_forward(), GridRequest(constraints=asked))


def test_persistent_tensors_that_do_not_fit_together_are_refused():
    resident = {name: GridConstraints(weights="resident") for name in ("up", "down")}
    words = 16 * 56 * 4  # bytes of each of the two, on one element
    for free, fits in ((words + 1000, False), (2 * words + 1000, True)):
        request = GridRequest(constraints=resident, most_executions=1)
        error = error_of(check_memory, wafer(1, 1, free), feed_forward(), request)
        assert (error is None) == fits
        assert fits or "the persistent tensors of all Einsums" in str(error)
        assert (error_of(map_on_grid, wafer(1, 1, free), feed_forward(), request) is None) == fits


def test_constraints_that_no_mapping_obeys_are_named():
    asked = {"up": GridConstraints(x="q")}
    with pytest.raises(TilewrightError, match="x cannot be 'q'"):
        check_memory(wafer(2, 2, 9000), feed_forward(), GridRequest(constraints=asked))


def test_the_least_words_are_those_of_all_combinations():
    draw = np.random.default_rng(5)
    for _ in range(200):
        sizes = [draw.integers(0, 9, (draw.integers(1, 6), 2)) for _ in range(draw.integers(1, 4))]
        least = min(
            sum(persistent for persistent, _ in chosen) + max(tiles for _, tiles in chosen)
            for chosen in itertools.product(*(each.tolist() for each in sizes))
        )
        assert least_words(sizes) == least
