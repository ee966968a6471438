"""Every public example file parses; every architecture flattens and prints back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from public_variables import VARIABLES

from tilewright.arch.components.cost_table import load_cost_table
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError
from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.printing import dump_arch

FILES = 42  # as many as there are: a folder that moved away must not pass


def files(shared_data: Path, folder: str) -> list[Path]:
    return sorted((shared_data / "accelforge" / folder).rglob("*.yaml"))


def test_every_file_parses(shared_data: Path) -> None:
    found = [
        p for folder in ("arches", "workloads", "mappings") for p in files(shared_data, folder)
    ]
    assert len(found) >= FILES
    for phase in ({"DECODE": False}, {"DECODE": True, "N_NEW_TOKENS": 1}):
        for path in found:
            document = load_document(path, variables={**VARIABLES, **phase})
            assert path.name == "_max_tokens_assert.yaml" or isinstance(document.data, dict)


def test_included_lists_and_merged_mappings(shared_data: Path) -> None:
    """GPT-3: attention and feed-forward files, joined by include() and `<<<`."""
    path = shared_data / "accelforge" / "workloads" / "transformers" / "gpt" / "gpt3_6.7B.yaml"
    document = load_document(path, variables=VARIABLES)
    sizes = document.at(("workload", "rank_sizes"))
    assert isinstance(sizes, dict)
    assert (sizes["H"], sizes["D"], sizes["C"], sizes["J"]) == (32, 4096, 16384, 4096)
    einsums = document.at(("workload", "einsums"))
    assert isinstance(einsums, list)
    assert [len(part) for part in einsums] == [8, 2]
    place = document.where(("workload", "einsums", 1, 0))
    assert Path(place.file).name == "dense_two_layer.yaml"
    assert "FFA[b, m, c]" in Path(place.file).read_text().splitlines()[(place.line or 0) - 1]


def test_the_assertion_of_a_public_file_speaks(shared_data: Path) -> None:
    path = shared_data / "accelforge" / "workloads" / "transformers" / "gpt" / "gpt3_6.7B.yaml"
    with pytest.raises(SpecError, match="N_NEW_TOKENS exceeds MAX_N_TOKENS") as caught:
        load_document(path, variables={**VARIABLES, "N_NEW_TOKENS": 10**6})
    assert caught.value.where is not None
    assert Path(caught.value.where.file).name == "_max_tokens_assert.yaml"
    assert caught.value.where.line == 5


def test_every_architecture_flattens_and_prints_back(shared_data: Path, matmul: Scope) -> None:
    table = shared_data / "accelforge" / "hwcomponents_expected.json"
    found = files(shared_data, "arches")
    assert len(found) >= 9
    for path in found:
        arch = load_arch(path)
        if path.stem in ("eyeriss", "simba"):
            arch = arch.with_estimators(load_cost_table(table, path.stem))
        assert flatten(arch)
        flats = flatten(arch, matmul)
        assert [flat.compute.name for flat in flats] == ["MAC"]
        assert flats[0].unresolved == ()
        printed = dump_arch(arch)
        assert load_arch(printed) == arch
        assert dump_arch(load_arch(printed)) == printed


def test_the_older_tpu_file_says_the_same_as_the_current_one(
    shared_data: Path, matmul: Scope, elementwise: Scope
) -> None:
    page = (shared_data.parent / "reference" / "seeds" / "001_05129de8395e2567.txt").read_text()
    match = re.search(r"^arch:\n.*?(?=^Flattening#)", page, re.MULTILINE | re.DOTALL)
    assert match is not None
    old = load_arch(match[0])
    new = load_arch(shared_data / "accelforge" / "arches" / "tpu_v4i.yaml")
    for scope in (matmul, elementwise):
        theirs, ours = flatten(old, scope), flatten(new, scope)
        assert [f.compute.name for f in theirs] == [f.compute.name for f in ours]
        for left, right in zip(theirs[0].components, ours[0].components, strict=True):
            assert (type(left), left.own_fanout) == (type(right), right.own_fanout)
            assert [(a.name, a.energy) for a in left.actions] == [
                (a.name, a.energy) for a in right.actions
            ]
            calls = {"read": 1e9, "write": 3e9, "compute": 1e9}
            if left.latency is not None and right.latency is not None:
                assert left.latency(calls) == pytest.approx(right.latency(calls))
