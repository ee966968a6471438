"""What the report of a study shows of a design's machine: occupancy, time, energy, its roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.arch.flattening.arch_facts import arch_facts
from tilewright.dse.report.mapping.machine_table import MachineRow, machine_rows
from tilewright.dse.report.mapping.roofline import HEIGHT, WIDTH, roofline
from tilewright.dse.report.page import templates

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.mapping.score import Score


def machine_details(score: Score, arch: Arch) -> dict[str, Any]:
    """Return the machine of a design under a mapping as plain JSON values.

    `machine`: the components top-down, each with its size and its shares (0 to 1, None if unknown)
    of occupancy, of the latency and of the energy; `roofline`: a picture as SVG, if there is one.
    """
    facts = arch_facts(arch)
    chart = roofline(score, facts)
    picture = {"roofline": chart, "width": WIDTH, "roofline_height": HEIGHT}
    return {
        "machine": [_row(row) for row in machine_rows(score, facts)],
        **({} if chart is None else {
            "roofline": templates().get_template("roofline_picture.svg").render(picture)
        }),
    }  # fmt: skip


def _row(row: MachineRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "depth": row.depth,
        "count": row.instances,
        "size": row.size,
        "in_use": row.full.text,
        "full": row.full.share,
        "busy": row.busy.share,
        "energy": row.energy.share,
        "limits": row.limits,
    }
