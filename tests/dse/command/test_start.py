"""What a short command imports: a start is slow by what it loads; its time is no test here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPORT = (
    "\nimport sys\n"
    "roots = {name.partition('.')[0] for name in sys.modules}\n"
    "print(sorted(roots & {'numba', 'scipy', 'networkx', 'optuna', 'rich', 'jinja2', 'joblib'}),"
    " file=sys.stderr)\n"
)
MAP = """
import sys
from tilewright.dse.command.cli import main
sys.argv = ["tilewright", "map", "--arch", "tpu_v4i", "--workload", "matmul.yaml", "--json"]
try:
    main()
except SystemExit as end:
    assert end.code == 0
"""
SIMULATE = """
from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.profiles.profile import load_profile
Machine(chain_reduce(8, 16), load_profile("wse2-sdk-sim")).run()
"""
MATMUL = """\
workload:
  rank_sizes: {M: 64, K: 64, N: 64}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Z}}
"""


@pytest.mark.parametrize("code", [MAP, SIMULATE], ids=["map", "first simulation"])
def test_with_machine_code_on_disk_nothing_heavy_is_imported(code: str, tmp_path: Path) -> None:
    (tmp_path / "matmul.yaml").write_text(MATMUL)
    for _ in range(2):  # the first process may have to compile
        done = subprocess.run(
            [sys.executable, "-c", code + REPORT], cwd=tmp_path, capture_output=True, text=True,
            timeout=300, check=False, env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if done.stderr.splitlines()[-1] == "[]":
            break
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("study", ["tpu_v4i_gpt3", "wafer_matvec"])
def test_a_study_is_validated_without_numpy(study: str) -> None:
    """Numpy takes longer to load than the files take to check."""
    code = (
        "import sys; from tilewright.dse.command.cli import main\n"
        f"sys.argv = ['tilewright', 'validate', 'studies/{study}/study.yaml']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "assert not {'numpy', 'tilewright.mapper.model.conventions', "
        "'tilewright.arch.components.components'} & set(sys.modules)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
