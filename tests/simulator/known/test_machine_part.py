"""What decides mappings and cycles on a grid: rules and sizes do, energies and speeds do not."""

from __future__ import annotations

import pytest
from grid_mappings import HARDWARE, einsum_workload

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.known.content_key import content_key
from tilewright.simulator.known.machine_part import machine_part

TEXT = HARDWARE.read_text(encoding="utf-8")


def key(text: str) -> str:
    workload = einsum_workload("matrix product")
    arch = load_arch(load_document("a.yaml", text=text))
    return content_key(machine_part(grid_path(arch, workload, workload.einsums[0])))


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("{keep: All}", "{keep: All, tile_shape: [{expression: m, operator: <=, value: 2}]}"),
        ("{keep: All}", "{keep: All, no_refetch_from_above: A}"),
        ("may_keep: ~Outputs}", "may_keep: B}"),
        ("may_keep: ~Outputs}", "may_keep: ~Outputs & ~Host}"),
        ("name: X, fanout: GridX}", "name: X, fanout: GridX, reuse: A}"),
        ("size: 48 * 1024 * 8", "size: 24 * 1024 * 8"),
    ],
)
def test_rules_and_sizes_count(line: str, other: str) -> None:
    assert TEXT.count(line) == 1
    assert key(TEXT.replace(line, other)) != key(TEXT)


def test_energies_and_speeds_do_not_count() -> None:
    dearer = TEXT.replace("energy: 5e-12", "energy: 7e-12").replace("CLOCK: 850e6", "CLOCK: 1e9")
    assert dearer != TEXT
    assert key(dearer) == key(TEXT)
