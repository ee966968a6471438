"""What `evaluate --machine` says: the exact counts of a mapping, and bounds of its cycles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilewright.arch.errors import TilewrightError
from tilewright.arch.quantities import quantity
from tilewright.dse.command.console import given_option

if TYPE_CHECKING:
    from tilewright.simulator.execution.prediction import Prediction, ProgramPrediction

_OF_THE_MODEL = {"html": None, "allow_incomplete": False, "conventions": "default"}


def check_no_model_options(options: Mapping[str, Any]) -> None:
    """Raise TilewrightError for an option of `evaluate` that has no meaning on a machine."""
    if (given := given_option(options, _OF_THE_MODEL)) is not None:
        raise TilewrightError(
            f"{given} is an option of costs by the model",
            value="--machine",
            instead="--machine without it; `tilewright execute --html FILE` writes a page",
        )


def prediction_lines(prediction: Prediction) -> list[str]:
    """Return what a mapping costs at least as lines for the terminal."""
    from tilewright.dse.report.execution_page import count_lines

    lines: list[str] = []
    for program in prediction.programs:
        lines += [
            f"{program.name}: counted on {prediction.machine}, not executed",
            f"  cycles    {program.lower_bound_cycles:>14,}  at least{_most(program, ', ')}",
            f"  energy    {quantity(program.energy, 'energy'):>14}  exact but for leakage",
        ]
        if program.sram_bits:
            lines.append(f"  SRAM      {program.sram_bits // 8:>8,} bytes  of an element")
        lines += [f"    {line}" for line in count_lines(program.counts)]
    return [*lines, "", f"{_total(prediction)}; `tilewright execute` runs the mapping"]


def least_lines(prediction: Prediction) -> list[str]:
    """Return what each Einsum and exchange of a mapping costs at least, in a line, and the sum."""
    width = max(len(program.name) for program in prediction.programs)
    lines = [
        f"  {program.name:<{width}}  at least {program.lower_bound_cycles:>11,} cycles"
        f"{_most(program, ', ')}  "
        f"{quantity(program.energy, 'energy'):>8}"
        for program in prediction.programs
    ]
    return [*lines, f"{_total(prediction)}: costs of this mapping, energy exact but for leakage"]


def _total(prediction: Prediction) -> str:
    latency, energy = prediction.latency, prediction.energy
    cycles = f"at least {prediction.lower_bound_cycles:,} cycles{_most(prediction, ' and ')}"
    return f"{cycles}, {quantity(latency, 'latency')}, {quantity(energy, 'energy')}"


def _most(known: Prediction | ProgramPrediction, before: str) -> str:
    """Return the cycles that no run goes above in words, with what stands before; none: empty."""
    return "" if known.cycles_at_most is None else f"{before}at most {known.cycles_at_most:,}"


def prediction_document(prediction: Prediction) -> dict[str, Any]:
    """Return what a mapping costs at least as one JSON document."""
    return {
        "machine": prediction.machine,
        "lower_bound_cycles": prediction.lower_bound_cycles,
        "cycles_at_most": prediction.cycles_at_most,
        "latency": prediction.latency,
        "energy": prediction.energy,
        "programs": [_program_document(program) for program in prediction.programs],
    }


def _program_document(program: ProgramPrediction) -> dict[str, Any]:
    return {
        "name": program.name,
        "lower_bound_cycles": program.lower_bound_cycles,
        "cycles_at_most": program.cycles_at_most,
        "energy": program.energy,
        "energy_by": dict(program.energy_by),
        "counts": dict(program.counts),
        "sram_bits": program.sram_bits,
    }
