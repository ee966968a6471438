"""Matrix products on a grid of cores: layouts by the algebra, time by the model of such products.

Nothing is executed: the time model is compared with measurements in docs/validation/gemm-time.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tilewright.dse.models.evaluator import Outcome, parts_of
from tilewright.dse.models.inputs import layout_machine, mapping_choices, workload
from tilewright.dse.report.details import section
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.kernel_choices import GridMatmulChoices, choices_of
from tilewright.dse.study.study import StudyInput

if TYPE_CHECKING:
    from tilewright.mapper.layout.costs.gemm import Gemm
    from tilewright.mapper.layout.costs.gemm_time import GemmTime
    from tilewright.mapper.layout.layout import Layout
    from tilewright.mapper.layout.machines.layout_machine import LayoutMachine
    from tilewright.mapper.layout.packing.packing import PackedMemory
    from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class GridMatmulEvaluator:
    """The model of matrix products on a grid of cores with a matrix unit each.

    `arch`: file of the machine (`mapper/layout/machines/`); `workload`: products of two matrices.
    The Einsums run one after the other; a result that is the first operand of the next one is laid
    out anew if the two grids differ. Metrics: cycles, latency (s), core_bits (per core),
    dram_traffic (bits), utilization (of all matrix units), cores, reshard_cycles.
    """

    arch: StudyInput
    workload: StudyInput

    def evaluate(self, point: Point) -> Outcome:
        """Return the metrics of one design and its layouts.

        `point`: value of each knob by path. Raises InfeasibleMapping with the broken rule, or with
        the tiles that do not fit a core.
        """
        machine = layout_machine(self.arch, point)
        work = workload(self.workload, point)
        runs = [
            GridMatmul.of(einsum, mapping_choices(point, einsum.name), machine)
            for einsum in work.einsums
        ]
        reshards = [run.reshard_after(runs[:number]) for number, run in enumerate(runs)]
        sections = [run.section(cycles) for run, cycles in zip(runs, reshards, strict=True)]
        return Outcome(
            _totals(runs, reshards),
            details={"sections": sections},
            breakdown=_breakdown(runs, reshards),
        )


@dataclass(frozen=True, slots=True)
class GridMatmul:
    """One matrix product on a grid of cores: its layouts, and its time by the model.

    `einsum`: the product; `gemm`: its sizes and choices; `time`: of the model; `layouts`: by
    tensor, of those in the cores; `machine`: the cores; `packed`: the buffers in a core's memory.
    """

    einsum: Einsum
    gemm: Gemm
    time: GemmTime
    layouts: Mapping[str, Layout]
    machine: LayoutMachine
    packed: PackedMemory

    @classmethod
    def of(
        cls, einsum: Einsum, choices: Mapping[str, str | int], machine: LayoutMachine
    ) -> GridMatmul:
        """Build and check the layouts of one product; raises InfeasibleMapping if it cannot be."""
        from tilewright.arch.number_format import number_format
        from tilewright.mapper.layout.costs.gemm import Gemm, in_dram
        from tilewright.mapper.layout.costs.gemm_time import gemm_time
        from tilewright.mapper.layout.costs.matmul_sizes import matmul_sizes

        chosen, sizes = choices_of(GridMatmulChoices, choices), matmul_sizes(einsum)
        gemm = Gemm(
            m=sizes.m,
            k=sizes.k,
            n=sizes.n,
            grid=(chosen.rows, chosen.columns),
            element=number_format(chosen.element),
            fidelity=chosen.fidelity,
            resident=chosen.storage == "cores",
            inner_block=chosen.inner_block,
        )
        if not gemm.resident:
            gemm = in_dram(gemm, machine)
        shapes = {sizes.first: (sizes.m, sizes.k), sizes.result: (sizes.m, sizes.n)}
        layouts = {name: _layout(name, shape, gemm, machine) for name, shape in shapes.items()}
        packed = gemm.packed(machine)
        resident_layouts = layouts if gemm.resident else {}
        return cls(einsum, gemm, gemm_time(gemm, machine), resident_layouts, machine, packed)

    def reshard_after(self, before: Sequence[GridMatmul]) -> float:
        """Return the cycles to lay the first operand out anew, if it is a result in other cores."""
        from tilewright.mapper.layout.costs.reshard_time import reshard_time

        first = self.einsum.inputs[0].tensor
        for run in before:
            made = any(access.tensor == first for access in run.einsum.outputs)
            if made and first in run.layouts and first in self.layouts:
                source, destination = run.layouts[first], self.layouts[first]
                if source != destination:
                    return reshard_time(source, destination, self.machine).cycles
        return 0.0

    def binding_cycles(self, reshard_cycles: float) -> dict[str, float]:
        """Return the cycles by what they wait for: the slowest resource, and what does not overlap.

        reshard_cycles: spent before it to lay its first operand out anew. They add up to all.
        """
        time = self.time
        parts = {
            "reshard": reshard_cycles,
            "start": time.start,
            time.limit: time.resources[time.limit],
            "write": time.write,
        }
        return {name: cycles for name, cycles in parts.items() if cycles}

    def section(self, reshard_cycles: float) -> dict[str, Any]:
        """Return the product's section of the report: layouts, seconds by resource, pictures.

        reshard_cycles: spent before it to lay its first operand out anew.
        """
        from tilewright.mapper.layout.packing.memory_picture import memory_picture
        from tilewright.mapper.layout.queries.explanation import explain
        from tilewright.mapper.layout.queries.picture import layout_picture

        hertz = self.machine.rates["clock_hz"]
        times = {**self.time.resources, "start": self.time.start, "write": self.time.write}
        times["reshard before"] = reshard_cycles
        texts = [f"{name}\n{explain(layout)}" for name, layout in self.layouts.items()]
        shown = section(
            self.einsum.name,
            "\n\n".join(texts) or "operands and result in DRAM",
            {},
            {name: cycles / hertz for name, cycles in times.items()},
            {
                "slowest": self.time.limit,
                "tiles of a core (m × n × k)": " × ".join(map(str, self.gemm.core_tiles)),
                "bytes of a core": self.packed.used,
                "executed": "no, modelled",
            },
        )
        pictures = {name: layout_picture(at) for name, at in self.layouts.items()}
        shown["pictures"] = {**pictures, "memory of a core": memory_picture(self.packed)}
        return shown


def _layout(name: str, shape: tuple[int, int], gemm: Gemm, machine: LayoutMachine) -> Layout:
    from tilewright.mapper.layout.legality.layout_rules import broken_rules
    from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor
    from tilewright.mapper.layout.tiling import Tiling
    from tilewright.mapper.workload.errors import InfeasibleMapping

    tensor = ShardedTensor(shape, machine.units, Tiling((32, 32), gemm.element, "hardware"))
    layout = tensor.on_grid(*gemm.grid)
    allowed = ("uneven",) if gemm.resident else ("uneven", "capacity")
    for rule in broken_rules(layout, machine, allowed):
        raise InfeasibleMapping(f"{name}: {rule.rule}: {rule.what}", instead=rule.instead or None)
    return layout


def _breakdown(
    runs: Sequence[GridMatmul], reshards: Sequence[float]
) -> dict[str, dict[str, float]]:
    """Return cycles by what binds, and latency (s) by resource, of each product.

    The bits of a core are by buffer, of the product that needs most.
    """
    hertz = runs[0].machine.rates["clock_hz"]
    cycles: dict[str, float] = {}
    latency: dict[str, float] = {}
    for run, reshard in zip(runs, reshards, strict=True):
        name = run.einsum.name if len(runs) > 1 else ""
        cycles |= parts_of(name, run.binding_cycles(reshard))
        latency |= parts_of(name, {key: n / hertz for key, n in run.time.resources.items()})
    largest = max(runs, key=lambda run: run.packed.used)
    name = largest.einsum.name if len(runs) > 1 else ""
    buffers = [buffer.request for buffer in largest.packed.buffers]
    bits = parts_of(name, {buffer.name: 8.0 * buffer.bytes for buffer in buffers})
    return {"cycles": cycles, "latency": latency, "core_bits": bits}


def _totals(runs: Sequence[GridMatmul], reshards: Sequence[float]) -> dict[str, float]:
    machine = runs[0].machine
    cycles = sum(run.time.cycles for run in runs) + sum(reshards)
    ideal = sum(
        prod(-(-size // 32) for size in (run.gemm.m, run.gemm.k, run.gemm.n))
        * machine.rates[f"tile_cycles_{run.gemm.fidelity}"]
        for run in runs
    )
    return {
        "cycles": cycles,
        "latency": cycles / machine.rates["clock_hz"],
        "core_bits": 8.0 * max(run.packed.used for run in runs),
        "dram_traffic": 8.0 * sum(run.time.dram_bytes for run in runs),
        "utilization": ideal / machine.unit_count / cycles,
        "cores": float(max(prod(run.gemm.grid) for run in runs)),
        "reshard_cycles": float(sum(reshards)),
    }
