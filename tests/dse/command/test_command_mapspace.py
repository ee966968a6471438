"""Commands that say what a mapspace holds, why it is empty, and how else to search it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tilewright.dse.command.cli import cli

ARCH = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: All}
    actions: [{name: read, energy: 9, throughput: 1}, {name: write, energy: 9, throughput: 1}]
  - !Memory
    name: REG
    size: 24
    leak_power: 0
    area: 0
    tensors: {keep: weight, may_keep: All}
    actions: [{name: read, energy: 1, throughput: 1}, {name: write, energy: 1, throughput: 1}]
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
WORKLOAD = """\
workload:
  rank_sizes: {M: 4, N: 2, K: 2}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, k] = Y[m, n] * C[n, k]", renames: {input: Y, weight: C, output: Z}}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "arch.yaml").write_text(ARCH)
    (tmp_path / "work.yaml").write_text(WORKLOAD)
    return ("--arch", str(tmp_path / "arch.yaml"), "--workload", str(tmp_path / "work.yaml"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def test_mapspace_lists_constraints_with_their_places(files: tuple[str, ...]) -> None:
    result = run("mapspace", *files)
    assert result.exit_code == 0, result.output
    text = result.output
    assert "mapspace of Y" in text
    assert "mapspace of Z" in text
    assert "REG has 24 bit (arch.yaml:12:11)" in text
    assert "REG must keep B (arch.yaml:15:21)" in text


def test_mapspace_as_json(files: tuple[str, ...]) -> None:
    result = run("mapspace", *files, "--einsum", "Y", "--json")
    (report,) = json.loads(result.stdout)["einsums"]
    assert report["fitting"] <= report["points"]
    kinds = {effect["kind"] for effect in report["constraints"]}
    assert kinds == {"keep", "size"}
    for effect in report["constraints"]:
        assert effect["without"]["fitting"] >= report["fitting"]
        assert effect["where"].split(":")[1].isdigit()


def test_map_says_why_nothing_fits(files: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "arch.yaml").write_text(ARCH.replace("size: 24", "size: 4"))
    result = run("map", *files, "--einsum", "Z")
    assert result.exit_code == 3
    assert "no mapping of Z fits" in result.output
    assert "REG has 4 bit" in result.output
    assert "the others need at least 8: 8 bit for C" in result.output
    assert "REG.size: 8 (now 4)" in result.output


@pytest.mark.parametrize("method", ["exhaustive", "random", "annealing"])
def test_map_by_other_methods(files: tuple[str, ...], method: str) -> None:
    exact = json.loads(run("map", *files, "--einsum", "Y", "--json").stdout)
    other = json.loads(
        run("map", *files, "--einsum", "Y", "--method", method, "--seed", "2", "--json").stdout
    )
    assert other["value"] == pytest.approx(exact["value"], rel=1e-9)


def test_unknown_method_is_bad_input(files: tuple[str, ...]) -> None:
    result = run("map", *files, "--method", "anealing")
    assert result.exit_code == 2
    assert "annealing" in result.output


def test_why_not(files: tuple[str, ...]) -> None:
    result = run("map", *files, "--einsum", "Y", "--why-not", "A@REG")
    assert result.exit_code == 0, result.output
    assert "A in REG" in result.output
    answer = json.loads(run("map", *files, "--einsum", "Y", "--why-not", "A@REG", "--json").stdout)
    assert answer["kept"] or answer["value_if_kept"] >= answer["value"] * (1 - 1e-9)
    assert run("map", *files, "--why-not", "A").exit_code == 2
