"""Reads and writes of one tensor with even tiles: the running example of theory/model.md §3."""

from __future__ import annotations

import pytest
from running_example import ARCH, LANES, LOOPS, loops_and_nest, view_of

from tilewright.mapper.model.traffic.reuse import even_traffic


def traffic(tensor, nodes=LOOPS, arch=ARCH):
    loops, nest = loops_and_nest(tensor, nodes, view_of(arch=arch))
    return {
        holder.holder.component.name: holder
        for holder in even_traffic(nest, {place: loop.turns for place, loop in loops.items()})
    }


def reads_and_writes(tensor, nodes=LOOPS, arch=ARCH):
    return {name: (t.reads, t.writes) for name, t in traffic(tensor, nodes, arch).items()}


def test_counts_of_the_running_example() -> None:
    assert reads_and_writes("A") == {"DRAM": (32, 0), "BUF": (64, 32)}
    assert reads_and_writes("B") == {"DRAM": (64, 0)}
    assert reads_and_writes("Z") == {"DRAM": (64 - 16, 64)}


def test_what_a_level_asks_is_what_the_level_above_serves() -> None:
    counts = traffic("A")
    assert (counts["DRAM"].fills, counts["DRAM"].served) == (0, 32)
    assert (counts["BUF"].fills, counts["BUF"].served) == (32, 64)
    assert (counts["BUF"].drains, counts["DRAM"].taken) == (0, 0)


def test_lanes_over_irrelevant_variables_share() -> None:
    """n over x, m of a tile over y: A is read once for both lanes of x, B for both of y."""
    assert reads_and_writes("A", LANES) == {"DRAM": (32, 0), "BUF": (32, 32)}
    assert reads_and_writes("B", LANES) == {"DRAM": (32, 0)}
    assert reads_and_writes("Z", LANES) == {"DRAM": (48, 64)}
    alone = ARCH.replace("{name: x, fanout: 2}", "{name: x, fanout: 2, may_reuse: B}")
    assert reads_and_writes("A", LANES, alone) == {"DRAM": (32, 0), "BUF": (64, 32)}


def test_one_instance_does_its_part() -> None:
    """A buffer below the fanout: each of its 4 instances works for one lane."""
    arch = ARCH.replace("    size: 64\n", "    size: 64\n    spatial: [{name: z, fanout: 2}]\n")
    nodes = LOOPS.replace(
        "Temporal {rank_variable: m, tile_shape: 2}",
        "Spatial {rank_variable: m, tile_shape: 4, name: z, component: BUF}\n"
        "Temporal {rank_variable: m, tile_shape: 2}",
    )
    counts = traffic("A", nodes, arch)["BUF"]
    assert (counts.reads, counts.writes) == (64, 32)
    assert (counts.unit_reads, counts.unit_writes) == (32, 16)


OUTPUT = """
Storage {tensors: [A, B, Z], component: DRAM}
Temporal {rank_variable: m, tile_shape: 1}
Temporal {rank_variable: k, tile_shape: 2}
Storage {tensors: [Z], component: BUF}
Temporal {rank_variable: n, tile_shape: 1}
Temporal {rank_variable: k, tile_shape: 1}
Compute {einsum: Z, component: MAC}
"""


@pytest.mark.parametrize(
    ("skip", "dram", "buf"),
    [
        # 16 visits move rows of 2 sums: 32 drained; 8 of the 16 visits bring old sums: 16 filled.
        # 64 operations write; 16 sums are begun, so 64 - 16 are read, and 32 more to drain.
        ("true", (16, 32), (64 - 16 + 32, 64 + 16)),
        # Without elision every visit fills, and every operation reads.
        ("false", (32, 32), (64 + 32, 64 + 32)),
    ],
)
def test_first_writes_are_elided_where_the_memory_skips_them(skip, dram, buf) -> None:
    arch = ARCH.replace("    size: 64\n", f"    size: 64\n    skip_initial_output_write: {skip}\n")
    assert reads_and_writes("Z", OUTPUT, arch) == {"DRAM": dram, "BUF": buf}


@pytest.mark.row("001.53")
@pytest.mark.parametrize(("direction", "reads"), [("down", 48), ("up", 64), ("up_and_down", 112)])
def test_a_toll_counts_what_passes_in_its_direction(direction: str, reads: int) -> None:
    toll = (
        f"  - !Toll {{name: LINK, direction: {direction}, area: 0, leak_power: 0, "
        "actions: [{name: read, energy: 1, throughput: 1}]}\n"
    )
    arch = ARCH.replace("  - !Memory\n    name: BUF", toll + "  - !Memory\n    name: BUF")
    nodes = LOOPS.replace("Temporal {rank_variable: n", "Toll {tensors: [Z], component: LINK}\n"
                          "Temporal {rank_variable: n")  # fmt: skip
    nodes = nodes.replace("Storage {tensors: [A], component: BUF}\n", "")
    counts = traffic("Z", nodes, arch)
    assert (counts["LINK"].reads, counts["LINK"].writes) == (reads, 0)
    assert (counts["DRAM"].reads, counts["DRAM"].writes) == (48, 64)
