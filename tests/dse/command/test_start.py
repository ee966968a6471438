"""What a short command imports: a start is slow by what it loads; its time is no test here."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tilewright.arch.spec.schema import SpecModel
from tilewright.arch.spec.spec import MemorySpec
from tilewright.dse.study.study_file import StudyFile
from tilewright.mapper.workload.workload_file import WorkloadSpec

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


ROOT = Path(__file__).parents[3]
STUDIES = sorted(path.parent.name for path in ROOT.glob("studies/*/study.yaml"))
NEVER = {"numpy", "email", "tilewright.dse.command.command_study", "tilewright.simulator.run"}
NOT_OF = {
    "hardware/tpu_v4i": {"jinja2", "tilewright.mapper", "tilewright.dse.study"},
    "workloads/gpt3_6_7b": {"tilewright.arch.spec.spec", "tilewright.dse.study"},
    **{
        f"{study}/study": {
            "tilewright.arch.components.components",
            "tilewright.dse.models.evaluator",
            "tilewright.mapper.layout.layout",
            "tilewright.mapper.model.conventions",
            "tilewright.simulator.diagnose",
        }
        for study in STUDIES
    },
}
"""What checking a file must not load: each takes longer than the file itself."""


@pytest.mark.parametrize("file", NOT_OF)
def test_a_file_is_checked_with_what_its_kind_needs(file: str) -> None:
    code = (
        "import sys; from tilewright.dse.command.cli import main\n"
        f"sys.argv = ['tilewright', 'validate', 'studies/{file}.yaml']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"print(sorted({NEVER | NOT_OF[file]} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_only_the_command_that_runs_is_imported() -> None:
    code = (
        "import sys; from tilewright.dse.command.cli import main\n"
        "sys.argv = ['tilewright', 'completion', 'bash']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "print([name for name in sys.modules if '.command_' in name], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['tilewright.dse.command.line.command_completion']"


def test_pydantic_looks_at_fields_quickly() -> None:
    """It reads the signature of each factory; that of `dict` or `list` is parsed from a text."""

    import_module("tilewright.mapper.mapping.mapping_file")

    def models(base: type[SpecModel]) -> set[type[SpecModel]]:
        return {base, *(model for inner in base.__subclasses__() for model in models(inner))}

    known = models(SpecModel)
    assert {MemorySpec, StudyFile, WorkloadSpec} <= known
    slow = [
        f"{model.__name__}.{name}"
        for model in known
        for name, field in model.model_fields.items()
        if isinstance(field.default_factory, type)
    ]
    assert slow == []
