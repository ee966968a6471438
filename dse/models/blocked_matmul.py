"""Matrix products in blocks on one core with a tensor engine: buffers packed, time modelled.

Nothing is executed: the time model is compared with four measured kernels in theory/layouts.md §14.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import some
from tilewright.dse.models.evaluator import Outcome, parts_of
from tilewright.dse.models.inputs import layout_machine, mapping_choices, workload
from tilewright.dse.report.details import section
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.kernel_choices import BlockedMatmulChoices, choices_of
from tilewright.dse.study.study import StudyInput

if TYPE_CHECKING:
    from tilewright.mapper.layout.costs.blocked_matmul import BlockedMatmul
    from tilewright.mapper.layout.costs.blocked_matmul_time import BlockedMatmulTime
    from tilewright.mapper.layout.machines.layout_machine import LayoutMachine
    from tilewright.mapper.layout.packing.packing import PackedMemory
    from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class BlockedMatmulEvaluator:
    """The model of blocked matrix products on a core with SBUF, PSUM and a tensor engine.

    `arch`: file of the machine (`mapper/layout/machines/`); `workload`: products of two matrices,
    one after the other. Metrics: latency (s), sbuf_bits (of all partitions, the largest need),
    psum_banks, dram_traffic (bits), utilization (of the tensor engine).
    """

    arch: StudyInput
    workload: StudyInput

    def evaluate(self, point: Point) -> Outcome:
        """Return the metrics of one design, its buffers and its time by engine.

        `point`: value of each knob by path. Raises InfeasibleMapping with the broken rule, or with
        the buffers that do not fit.
        """
        machine = layout_machine(self.arch, point)
        runs = [
            _run(einsum, mapping_choices(point, einsum.name), machine)
            for einsum in workload(self.workload, point).einsums
        ]
        seconds = sum(run.time.seconds for run in runs)
        products = sum(_ideal_cycles(run.matmul) for run in runs)
        metrics = {
            "latency": seconds,
            "sbuf_bits": 8.0 * 128 * max(run.packed.used for run in runs),
            "psum_banks": float(max(run.matmul.psum_banks for run in runs)),
            "dram_traffic": 8.0 * sum(sum(run.matmul.hbm_bytes) for run in runs),
            "utilization": products / machine.rates["clock_hz"] / seconds,
        }
        return Outcome(
            metrics,
            details={"sections": [_section(run) for run in runs]},
            breakdown=_breakdown(runs),
        )


@dataclass(frozen=True, slots=True)
class _EinsumTime:
    name: str
    matmul: BlockedMatmul
    packed: PackedMemory
    time: BlockedMatmulTime


def _run(einsum: Einsum, choices: Mapping[str, str | int], machine: LayoutMachine) -> _EinsumTime:
    from tilewright.arch.number_format import number_format
    from tilewright.mapper.layout.costs.blocked_matmul import BlockedMatmul
    from tilewright.mapper.layout.costs.blocked_matmul_time import blocked_matmul_time
    from tilewright.mapper.layout.costs.matmul_sizes import matmul_sizes
    from tilewright.mapper.workload.errors import InfeasibleMapping

    chosen, sizes = choices_of(BlockedMatmulChoices, choices), matmul_sizes(einsum)
    matmul = BlockedMatmul(
        m=sizes.m,
        k=sizes.k,
        n=sizes.n,
        block=(chosen.m_tiles, chosen.k_tiles, chosen.n_tiles),
        order=chosen.order,
        element=number_format(chosen.element),
        partial=number_format(chosen.partial),
        depths=(chosen.first_buffers, chosen.second_buffers),
        psum_banks=chosen.psum_banks,
    )
    time = blocked_matmul_time(matmul, machine)
    for rule in matmul.broken_rules(machine):
        raise InfeasibleMapping(f"{rule.rule}: {rule.what}", instead=rule.instead or None)
    return _EinsumTime(einsum.name, matmul, matmul.packed(machine), time)


def _breakdown(runs: Sequence[_EinsumTime]) -> dict[str, dict[str, float]]:
    """Return the latency (s) of each product by resource, and by what waits for no other one.

    The bits of SBUF are by buffer, of the product that needs most.
    """
    latency: dict[str, float] = {}
    for run in runs:
        name = run.name if len(runs) > 1 else ""
        latency |= parts_of(name, {**run.time.resources, **run.time.waiting})
    largest = max(runs, key=lambda run: run.packed.used)
    buffers = [buffer.request for buffer in largest.packed.buffers]
    by_buffer = {buffer.name: 8.0 * 128 * buffer.bytes for buffer in buffers}
    bits = parts_of(largest.name if len(runs) > 1 else "", by_buffer)
    return {"latency": latency, "sbuf_bits": bits}


def _ideal_cycles(matmul: BlockedMatmul) -> float:
    return matmul.m * matmul.k * matmul.n / (128 * 128)


def _section(run: _EinsumTime) -> dict[str, Any]:
    from tilewright.mapper.layout.packing.memory_picture import memory_picture

    matmul, time = run.matmul, run.time
    trips, tiles = matmul.trips, matmul.block_tiles
    loops = [
        f"{'  ' * depth}for {name} in {trips[name]} blocks of {tiles[name]} tiles"
        for depth, name in enumerate(matmul.order)
    ]
    addresses = [
        f"{buffer.request.name}: {buffer.request.depth} × {buffer.request.tile_bytes} bytes "
        f"at {buffer.address}"
        for buffer in run.packed.buffers
    ]
    facts = {
        "slowest": time.limit,
        "first operand loaded": some(matmul.loads("mk"), "time"),
        "second operand loaded": some(matmul.loads("kn"), "time"),
        "tiles that leave PSUM": matmul.evictions,
        "bytes of a partition of SBUF": run.packed.used,
        "executed": "no, modelled",
    }
    nest = "\n".join([*loops, "", "in each partition of SBUF:", *addresses])
    shown = section(run.name, nest, {}, {**time.resources, **time.waiting}, facts)
    shown["pictures"] = {"a partition of SBUF": memory_picture(run.packed)}
    return shown
