"""Ten things that users get wrong: one clear message each, with file and line, and exit code 2."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tilewright.dse.command.cli import cli

ARCH = """arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 7e-12, throughput: inf}
    - {name: write, energy: 7e-12, throughput: inf}
  - !Memory
    name: Buffer
    size: 4096
    leak_power: 0
    area: 0
    actions:
    - {name: read, energy: 1e-12, throughput: inf}
    - {name: write, energy: 1e-12, throughput: inf}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {name: compute, energy: 1e-13, throughput: 1e9}
"""
WORKLOAD = """workload:
  rank_sizes: {M: 16, K: 32, N: 64}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "Z[m, n] = A[m, k] * B[k, n]"
    renames: {input: A, weight: B, output: Z}
"""
MAPPING = """mapping:
  nodes:
  - !Storage {tensors: [A, B, Z], component: DRAM}
  - !Temporal {rank_variable: k, tile_shape: 16}
  - !Storage {tensors: [A], component: Buffer}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: n, tile_shape: 1}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Compute {einsum: Z, component: MAC}
"""
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)

BREAKAGES: dict[str, tuple[str, str, str]] = {
    # name: (file that is broken, text to replace, replacement)
    "unknown key": (
        "arch.yaml",
        "leak_power: 0\n    area: 0\n    actions:\n    - {name: read, energy: 1e-12",
        "leak_powr: 0\n    area: 0\n    actions:\n    - {name: read, energy: 1e-12",
    ),
    "wrong type": ("workload.yaml", "N: 64", "N: sixty-four"),
    "negative size": ("arch.yaml", "size: 4096", "size: -4096"),
    "unknown tensor in a mapping": (
        "mapping.yaml",
        "[A], component: Buffer",
        "[AA], component: Buffer",
    ),
    "a mapping that does not reach tile shape 1": (
        "mapping.yaml",
        "n, tile_shape: 1",
        "n, tile_shape: 2",
    ),
    "a tile that does not fit": (
        "mapping.yaml",
        "[A], component: Buffer",
        "[A, B], component: Buffer",
    ),
    "an arch with no Compute": ("arch.yaml", ARCH[ARCH.index("  - !Compute") :], ""),
    "an expression that tries __import__": (
        "arch.yaml",
        "size: 4096",
        "size: __import__('os').system('true')",
    ),
    "a YAML bomb": ("workload.yaml", WORKLOAD, BOMB),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("arch", ARCH), ("workload", WORKLOAD), ("mapping", MAPPING)):
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluate() -> tuple[int, str, str]:
    words = ["evaluate"]
    for name in ("arch", "workload", "mapping"):
        words += [f"--{name}", f"{name}.yaml"]
    result = CliRunner().invoke(cli, words)
    return result.exit_code, result.stdout, result.stderr


def test_unbroken_files_are_fine(files: Path) -> None:
    code, _, errors = evaluate()
    assert (code, errors) == (0, "")


@pytest.mark.parametrize("name", BREAKAGES)
def test_broken_input(name: str, files: Path, golden: Callable[[str], None]) -> None:
    file, old, new = BREAKAGES[name]
    text = (files / file).read_text()
    assert text.count(old) == 1
    (files / file).write_text(text.replace(old, new))
    code, out, errors = evaluate()
    assert code == 2
    assert out == ""
    assert f"{file}:" in errors
    golden(errors.replace(str(files) + "/", ""))


def test_missing_file(files: Path, golden: Callable[[str], None]) -> None:
    (files / "workload.yaml").unlink()
    code, out, errors = evaluate()
    assert code == 2
    assert out == ""
    assert "workload.yaml" in errors
    golden(errors.replace(str(files) + "/", ""))
