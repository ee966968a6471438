"""Score a given mapping, prove that it computes its workload, and name the rules it breaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.broken_rules import broken_rules
from tilewright.mapper.evaluation.uncounted import uncounted
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.mapping_file import load_mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.verification.verification import all_violations
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.errors import MappingError
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload


def evaluate(
    arch: Arch | Path | str,
    workload: Workload | Path | str,
    mapping: Mapping | Path | str,
    conventions: str = "default",
    allow_incomplete: bool = False,
) -> Score:
    """Score a mapping with the analytical model: energy, latency, area, leakage and all counts.

    `arch`, `workload` and `mapping` are paths, texts, or loaded objects. `conventions`: "default"
    or "accelforge" (docs/conventions.md). The result is in joules, seconds, square metres and
    watts; `verified` says that the mapping is proven to compute the workload and to fit, and
    `notes` name each rule of the architecture that it breaks. By default a mapping that does not
    compute its workload is refused; `allow_incomplete` scores it, with a note (so do the
    accelforge conventions).

    Raises MappingError if this is no mapping of the workload on the architecture, if it does not
    compute the workload (an Einsum reads a tensor before it is complete, …), or if a count is
    larger than any float; InfeasibleMapping if tiles overfill a memory or it uses more instances
    than exist; SpecError for an error in a file; TilewrightError for unknown conventions.
    """
    arch = arch if isinstance(arch, Arch) else load_arch(arch)
    workload = workload if isinstance(workload, Workload) else load_workload(workload)
    mapping = mapping if isinstance(mapping, Mapping) else load_mapping(mapping)
    chosen = conventions_called(conventions)
    if chosen.checks_indices:
        workload.check_indices()
    score = score_mapping(arch, workload, mapping, conventions)
    wrong = all_violations(arch, workload, mapping, chosen.switch)
    if wrong and chosen.complete_reads and not allow_incomplete:
        _refuse(wrong[0], mapping, _moved_in_between(arch, workload))
    return replace(
        score,
        verified=not wrong,
        notes=(
            *score.notes,
            *map(str, wrong),
            *broken_rules(arch, workload, mapping, chosen),
            *uncounted(arch, score),
        ),
    )


def _moved_in_between(arch: Arch, workload: Workload) -> str:
    """Return what to use if elements of a grid exchange tensors between Einsums; else ""."""
    if len(workload.einsums) == 1:
        return ""
    try:
        grid_of(flatten(arch, workload.scope(workload.einsums[0].name))[0])
    except TilewrightError:
        return ""
    return (
        "; if values move between elements from Einsum to Einsum, --machine wse2-sdk-sim says the "
        "costs"
    )


def _refuse(violation: Violation, mapping: Mapping, moved: str) -> NoReturn:
    """Raise MappingError for a mapping that does not compute its workload.

    `violation`: why; `moved`: text to append to the advice.
    """
    known = 0 <= violation.node < len(mapping.places)
    raise MappingError(
        f"this mapping does not compute its workload: {violation}",
        where=mapping.places[violation.node] if known else None,
        instead=f"{violation.instead}; --allow-incomplete scores it all the same{moved}",
    )
