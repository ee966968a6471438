"""Routes on the torus, packets of patterns, and the resource that decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Tiling, number_format
from tilewright.mapper.layout.costs.reshard_time import (
    RoutedRead,
    node_of,
    packets,
    read_time,
    reshard_time,
    route,
)
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.layout.queries.transfers import Stride, StridePattern
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor

WORMHOLE = load_machine("wormhole")
STEPS = {"east": (1, 0), "south": (0, 1), "north": (0, -1), "west": (-1, 0)}
nodes = st.tuples(st.integers(0, 9), st.integers(0, 11))


@given(nodes, nodes, st.integers(0, 1))
def test_routes_lead_from_end_to_end(
    source: tuple[int, int], end: tuple[int, int], net: int
) -> None:
    """Follow the links: each starts where the one before ended, around the edges."""
    at = source
    for x, y, direction, network in route(RoutedRead(source, end, net, 1, 1), 10, 12):
        assert (x, y) == at
        assert network == net
        assert direction in (("north", "west") if net else ("east", "south"))
        step = STEPS[direction]
        at = ((x + step[0]) % 10, (y + step[1]) % 12)
    assert at == end


def test_packets_are_runs_of_bytes() -> None:
    whole = StridePattern(0, 0, (Stride(32, 32, 32), Stride(2, 1024, 1024), Stride(32, 1, 1)))
    assert packets(whole, 2, 8192) == 1
    assert packets(whole, 8, 8192) == 2
    turned = StridePattern(0, 0, (Stride(4, 1, 8), Stride(4, 8, 1)))
    assert packets(turned, 2, 8192) == 16


def test_the_busiest_resource_decides() -> None:
    """30,000 bytes: a link takes 1000 cycles, a port 1068 (theory/layouts.md §12)."""
    one = read_time([RoutedRead((1, 1), (3, 1), 0, 30_000, 1)], WORMHOLE)
    assert one.resources["link"] == 1000
    assert one.limit == "source port"
    assert one.cycles == pytest.approx(550 + 30_000 / 28.1)
    dram = read_time([RoutedRead((0, 1), (3, 1), 0, 30_000, 1)], WORMHOLE, [(0, 1)])
    assert dram.cycles == pytest.approx(550 + 30_000 / 23.2)
    many = read_time([RoutedRead((1, 1), (3, 1), 0, 320, 10)], WORMHOLE)
    assert (many.limit, many.cycles) == ("issue", 550 + 1300)
    shared = [RoutedRead((x, 1), (4 + x, 1), 0, 30_000, 1) for x in (1, 2)]
    assert read_time(shared, WORMHOLE).resources["link"] == 2000
    assert read_time([], WORMHOLE).cycles == 0


def test_a_reshard_of_layouts() -> None:
    """1024 × 1024 bf16 from blocks to rows: each unit reads 64 KiB, half over each network."""
    tensor = ShardedTensor((1024, 1024), (1, 8, 8), Tiling((32, 32), number_format("bf16")))
    time = reshard_time(tensor.block_sharded(8, 8), tensor.height_sharded(32), WORMHOLE)
    assert time.resources["destination port"] == pytest.approx(1024 * 1024 * 2 / 32 / 2 / 28.1)
    assert time.cycles == 550 + max(time.resources.values())
    same = reshard_time(tensor.block_sharded(8, 8), tensor.block_sharded(8, 8), WORMHOLE)
    assert same.resources["link"] == 0
    assert node_of((0, 5, 4), WORMHOLE) == (6, 7)


def test_a_wider_network_is_faster() -> None:
    """Blackhole: ports of 60.9 instead of 28.1 bytes per cycle; its constants are assumed."""
    blackhole = load_machine("blackhole")
    tensor = ShardedTensor((1024, 1024), (1, 8, 8), Tiling((32, 32), number_format("bf16")))
    times = [
        reshard_time(tensor.block_sharded(8, 8), tensor.height_sharded(32), machine)
        for machine in (WORMHOLE, blackhole)
    ]
    ports = [time.resources["destination port"] for time in times]
    assert ports[0] / ports[1] == pytest.approx(60.9 / 28.1)
    assert times[1].cycles < times[0].cycles
    assert node_of((0, 9, 12), blackhole) == (15, 11)


def test_machines_without_a_network_are_refused() -> None:
    plain = linear_map_layout((4, 4), (2, 1))
    with pytest.raises(SpecError, match="trainium1 has no noc_columns"):
        reshard_time(plain, plain, load_machine("trainium1"))
    with pytest.raises(SpecError, match="no node for unit"):
        node_of((0, 0, 8), WORMHOLE)


def test_equal_layouts_take_no_cycles() -> None:
    tensor = ShardedTensor((256, 256), (1, 8, 8), Tiling((32, 32)))
    blocks = tensor.block_sharded(4, 4)
    assert reshard_time(blocks, blocks, load_machine("wormhole")).cycles == 0
    assert reshard_time(blocks, tensor.block_sharded(8, 4), load_machine("wormhole")).cycles > 550


def test_dram_is_read_over_one_network_and_written_over_the_other() -> None:
    """1024 × 1024 bf16 between 12 banks and 8 × 8 cores; bank 0 has 86 of 1024 tiles."""
    tiles = Tiling((32, 32), number_format("bf16"))
    banks = ShardedTensor((1024, 1024), (12,), tiles, "dram").interleaved()
    cores = ShardedTensor((1024, 1024), (1, 8, 8), tiles).block_sharded(8, 8)
    read, written = reshard_time(banks, cores, WORMHOLE), reshard_time(cores, banks, WORMHOLE)
    assert read.resources["source port"] == pytest.approx(86 * 2048 / 23.2)
    assert written.resources["destination port"] == pytest.approx(86 * 2048 / 23.2)
    assert read.resources["issue"] == written.resources["issue"] == 16 * 130
    with pytest.raises(SpecError, match=r"blackhole has no node for bank \(0,\) of dram"):
        reshard_time(banks, cores, load_machine("blackhole"))
