"""Results in a notebook: short forms, HTML, tables."""

from __future__ import annotations

import inspect
import json
from html.parser import HTMLParser

import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import search
from tilewright.mapper.searches.request import SearchOptions, SearchSettings
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.studies import path_of

ARCH = load_arch(path_of("hardware", "edge_npu"))
WORK = load_workload(path_of("workloads", "mlp4"), variables={"BATCH": 16, "WIDTH": 32})


@pytest.fixture(name="result", scope="module")
def found() -> SearchResult:
    return search(ARCH, WORK, front=("energy", "latency"), fusion=False)


class Balance(HTMLParser):
    """Fails at a tag that is closed and not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_short_forms(result):
    shown = (result, result.best, result.front, ARCH, WORK)
    assert all(len(repr(each)) < 120 for each in shown), [repr(each) for each in shown]
    assert repr(ARCH) == "<Arch: DRAM, GlobalBuffer, PEArray, Register, MAC>"
    assert repr(WORK) == "<Workload: H1, H2, H3, Y>"
    assert "optimal in energy" in repr(result)
    assert repr(result.best.mapping).startswith("<Mapping: [DRAM] ")
    assert "\n" not in repr(result.best.mapping)


def test_html_is_balanced_and_has_the_figures(result):
    for each in (result, result.best, result.best.mapping, result.best.score, result.front, ARCH):
        parser = Balance()
        parser.feed(each._repr_html_())
        assert parser.open == [] or set(parser.open) <= {"rect", "path"}, parser.open
    page = result._repr_html_()
    for words in ("By component", "By tensor", "By Einsum", "verified", "optimal in energy"):
        assert words in page


def test_plain_data(result):
    document = json.loads(json.dumps(result.to_dict()))
    assert document["energy"] == result.best.score.energy
    assert document["certificate"]["kind"] == "optimal"
    assert len(document["front"]) == len(result.front)
    assert document["front_proof"]["whole"]
    assert document["by_component"][0]["component"] == "DRAM"
    assert json.loads(json.dumps(ARCH.to_dict()))["components"][1]["size"] == 256 * 8192
    assert "!Storage" in result.best.mapping.to_dict()["file"]


def test_tables_of_pandas(result):
    pytest.importorskip("pandas")
    for by in ("component", "tensor", "einsum"):
        assert set(result.to_pandas(by)["energy"]) == set(result.best.score.to_pandas(by)["energy"])
    table = result.to_pandas()
    assert table["energy"].sum() == pytest.approx(result.best.score.energy)
    assert table.set_index("component").loc["MAC", "actions.compute"] == 4 * 16 * 32 * 32
    with pytest.raises(TilewrightError, match="component, tensor or einsum"):
        result.to_pandas("tensors")
    parts = ARCH.to_pandas().set_index("name")
    assert parts.loc["Register", "instances"] == 256
    assert parts.loc["MAC", "actions.compute.energy"] == 0.2e-12


def test_help_lists_the_options():
    parameters = inspect.signature(search).parameters
    assert list(parameters)[:3] == ["arch", "workload", "objective"]
    assert set(parameters) == {"arch", "workload", *SearchOptions.__annotations__}
    assert {name: p.default for name, p in parameters.items() if p.default is not p.empty} == {
        name: getattr(SearchSettings(), name) for name in SearchOptions.__annotations__
    }
    assert all(f"- `{name}`:" in (search.__doc__ or "") for name in SearchOptions.__annotations__)
