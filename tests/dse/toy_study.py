"""A small study with a closed-form model, for tests of the loop; also a program for subprocesses.

python toy_study.py DIRECTORY start|resume WORKERS [SAMPLER[:ISLANDS]] [PAUSE]
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

from tilewright.arch.errors import SpecError
from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.run.runner import EXIT_CODES, RunSettings, resume_study, start_study
from tilewright.dse.store.safe_files import write_atomically
from tilewright.dse.study.study_loading import load_study

STUDY = """\
name: toy
question: Which grid computes the product with the least energy, and which is fastest?
seed: 11
arch: {file: arch.yaml}
workload: {file: workload.yaml}
model: simulated
objectives:
- {metric: energy}
- {metric: cycles}
constraints:
- {metric: sram_bits, max: 48 * 1024 * 8}
space:
  arch.variables.GridX: {pow2: [1, 32]}
  arch.variables.GridY: {range: [1, 16]}
  mapping.up.reduction: {values: [chain, two_phase, tree]}
  mapping.up.tile: {values: [16, 64, 256]}
search: {sampler: nsga2, trials: 72, batch: 8, population: 16}
baselines:
- name: single element row
  values:
    arch.variables.GridX: 8
    arch.variables.GridY: 1
    mapping.up.reduction: chain
    mapping.up.tile: 64
"""


class ToyModel:
    """Work split over a grid, a reduction whose price depends on its kind, and a memory limit."""

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause

    def evaluate(self, point):
        time.sleep(self._pause)
        x, y = point["arch.variables.GridX"], point["arch.variables.GridY"]
        kind, tile = point["mapping.up.reduction"], point["mapping.up.tile"]
        if 4096 % y:
            raise SpecError(f"k = 4096 does not divide over {y} elements along Y")
        depth = {"chain": x, "two_phase": 2 * math.sqrt(x), "tree": 3 * math.log2(2 * x)}[kind]
        work = 4096 * 512 / (x * y)
        cycles = work + depth * 64 + 30 * 4096 / tile
        energy = 4e-12 * 4096 * 512 + 1e-12 * depth * 64 * x * y + 2e-12 * cycles * x * y
        sram = 32 * (4096 * 512 / (x * y) / 16 + tile * 16)
        metrics = {
            "cycles": float(round(cycles)),
            "energy": energy,
            "latency": cycles / 850e6,
            "edp": energy * cycles / 850e6,
            "sram_bits": float(sram),
            "utilization": work / cycles,
        }
        return Outcome(metrics, details={"sections": [toy_section(x, y, tile, energy, cycles)]})


def toy_section(x, y, tile, energy, cycles):
    """Details in the form of dse/report/details.py."""
    busy = [
        [int(cycles * (0.4 + 0.5 * math.sin(i * 0.3) ** 2)) for i in range(x)] for _ in range(y)
    ]
    words = [[(i + 1) * (j + 1) for i in range(x)] for j in range(y)]
    lanes = [
        {
            "name": f"row {row}, column 0",
            "spans": [
                [
                    t * cycles / 8,
                    (t + 0.7) * cycles / 8,
                    f"fmacs tile {t}",
                    "fmacs" if t % 3 else "fmovs",
                ]
                for t in range(8)
            ],
        }
        for row in range(min(y, 6))
    ]
    return {
        "einsum": "up",
        "loop_nest": f"for-all x in [0, {x}) over Grid.X\n  for-all y in [0, {y}) over Grid.Y\n"
        f"    for n in steps of {tile}\n      up[t, f] += tokens[t, g] * WU[g, f]",
        "energy_by": {"Engine": energy * 0.6, "SRAM": energy * 0.3, "Fabric": energy * 0.1},
        "time_by": {"busy": cycles * 0.7, "waiting for input": cycles * 0.2, "idle": cycles * 0.1},
        "time_unit": "cycles",
        "time_title": "What an element does",
        "facts": {"equals numpy.einsum": "yes", "elements": x * y},
        "maps": {
            "busy": {"unit": "cycles", "values": busy},
            "words sent": {"unit": "words", "values": words},
        },
        "timeline": {"unit": "cycles", "end": cycles, "lanes": lanes, "lanes_in_all": 6},
    }


def write_study(folder: Path, text: str = STUDY) -> Path:
    """Write the study and the files it names; return its path.

    Several processes may do so at once: each file is there as a whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "arch.yaml", "arch: {nodes: []}\n")
    write_atomically(folder / "workload.yaml", "workload: {einsums: []}\n")
    write_atomically(folder / "study.yaml", text)
    return folder / "study.yaml"


def main(arguments: list[str]) -> int:
    folder, action, workers = Path(arguments[0]), arguments[1], int(arguments[2])
    sampler, _, islands = (arguments[3] if len(arguments) > 3 else "nsga2").partition(":")
    how = RunSettings(workers, None, ToyModel(float(arguments[4]) if len(arguments) > 4 else 0.0))
    if action == "start":
        path = write_study(folder)
        settings = {"search.sampler": sampler}
        settings |= {"search.islands": int(islands)} if islands else {}
        result = start_study(
            load_study(path, settings), folder / "run", how, study_file=path, settings=settings
        )
    else:
        result = resume_study(folder / "run", how)
    return EXIT_CODES[result.ending]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
