"""What `map` and `evaluate` say of an architecture whose mappings the machine could execute."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.workload.workload import Workload

NOT_EXECUTED = (
    "note: an answer of the model, which leaves out starts of operations, conflicts and ways over "
    "the fabric; --machine wse2-sdk-sim searches with the machine in the loop"
)

NOT_RUN = (
    "note: costs of the model, with exact last tiles and all words from one corner of the fabric; "
    "--machine wse2-sdk-sim counts what the machine does, `tilewright execute` runs the mapping"
)


def machine_notes(arch: Arch, workload: Workload, note: str = NOT_EXECUTED) -> list[str]:
    """Return the note that mappings can be executed; none unless all Einsums fit the machine.

    The architecture must be a grid of elements with a fabric between them, and the values those of
    a number type of the machine.
    """
    from tilewright.arch.errors import TilewrightError
    from tilewright.arch.flattening.flattening import flatten
    from tilewright.mapper.grid.grid import grid_of
    from tilewright.mapper.grid.reading.element_rules import check_einsum

    try:
        for einsum in workload.einsums:
            grid = grid_of(flatten(arch, workload.scope(einsum.name))[0])
            check_einsum(einsum, grid)
            if grid.fabric is None:
                return []
    except TilewrightError:
        return []
    return [note]
