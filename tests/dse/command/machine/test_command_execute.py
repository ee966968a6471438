"""The commands `execute` and `run`, and `map --machine`: one road from search to execution."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from design_files import run

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.shipped import find_files
from tilewright.mapper import load_mapping, load_workload
from tilewright.simulator import execute

WORKLOAD = """
workload:
  rank_sizes: {M: 8, K: 12, N: 4}
  bits_per_value: {All: 32}
  persistent_tensors: W
  einsums:
  - einsum: "H[m, n] = X[m, k] * W[k, n]"
    renames: {input: X, weight: W, output: H}
  - einsum: "Z[m, n] = relu(H[m, n])"
    renames: {input: H, weight: Nothing, output: Z}
"""
EXAMPLES = Path(__file__).resolve().parents[4] / "docs" / "examples"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text(WORKLOAD)
    return tmp_path


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """The text of a search, and the mapping that it saved."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("searched"))
        Path("w.yaml").write_text(WORKLOAD)
        return mapped("--save", "m.yaml").stdout, Path("m.yaml").read_text()


@pytest.fixture
def found(here, searched):
    """The text of a search whose mapping is here."""
    Path("m.yaml").write_text(searched[1])
    return searched[0]


def mapped(*more):
    return run("map", "--arch", "wafer_grid", "--workload", "w.yaml", "--machine", "wse2-sdk-sim",
               "--objective", "latency", *more)  # fmt: skip


def executed(*more):
    return run("execute", "--arch", "wafer_grid", "--workload", "w.yaml", "--mapping", "m.yaml",
               *more)  # fmt: skip


def test_a_mapping_is_found_saved_and_executed_on_numbers(here):
    found = json.loads(mapped("--save", "m.yaml", "--report", "m.html", "--json").stdout)
    assert found["search"]["kind"] == "optimal"
    x = np.arange(96, dtype=np.float64).reshape(8, 12) - 48
    Path("x.json").write_text(json.dumps({"X": x.tolist()}))
    done = executed("--operands", "x.json", "--results", "r.npz", "--json", "--html", "e.html")
    answer = json.loads(done.stdout)
    assert answer["equal_to_reference"]
    assert answer["counts_equal"]
    assert answer["cycles"] == found["cycles"]
    assert answer["lower_bound_cycles"] <= answer["cycles"]
    assert answer["energy"] == pytest.approx(sum(answer["energy_by"].values()))
    with np.load("r.npz") as values:
        assert np.array_equal(values["X"], x)
        assert np.allclose(values["Z"], np.maximum(values["X"] @ values["W"], 0), atol=1e-3)
    assert "executed on numbers" in Path("e.html").read_text()
    page = Path("m.html").read_text()
    assert page.count("excluded by the bound") == 1
    assert "Restrictions: " in page


def test_the_text_says_what_was_compared_and_proven(found):
    assert re.search(r"\noptimal: \d+ executed, [\d,]+ excluded by the bound", found)
    shown = executed().stdout
    assert "the result equals numpy" in shown
    arch = load_arch(find_files(["wafer_grid"], "hardware")[0])
    again = execute(arch, load_workload(Path("w.yaml")), load_mapping(Path("m.yaml")))
    assert repr(again).startswith(f"<Execution: H, Z; {again.cycles:,} cycles, ")
    assert again._repr_html_().count("<tr>") == 2 + len(again.runs)
    with pytest.raises(TilewrightError, match="a tensor that no Einsum has"):
        execute(arch, load_workload(Path("w.yaml")), again.einsums[0].plan.read.mapping,
                operands={"XX": np.zeros(1)})  # fmt: skip
    assert re.search(r"cycles +[\d,]+ +lower bound [\d,]+", shown)


def _without(match: re.Match[str]) -> str:
    before, after = match.groups()
    return before if before == "[" else after if after == "]" else ", "


@pytest.mark.usefixtures("found")
def test_a_mapping_that_is_not_on_the_grid_says_why():
    held = re.compile(r"(\[|, )X(, |\])(?=.*component: Host)")
    lines = Path("m.yaml").read_text().splitlines()
    lines = [line for line in lines if "[X], component: Host" not in line]
    Path("m.yaml").write_text("\n".join(held.sub(_without, line) for line in lines))
    done = executed()
    assert done.exit_code == 2
    assert "X is in no memory outside the grid, but it is neither persistent nor" in done.stderr


@pytest.mark.usefixtures("found")
def test_operands_of_another_shape_are_refused():
    Path("x.json").write_text(json.dumps({"X": [[1, 2]]}))
    done = executed("--operands", "x.json")
    assert done.exit_code == 2
    assert "(8, 12)" in done.stderr
    Path("x.json").write_text("[1, 2]")
    assert "holds no arrays by tensor" in executed("--operands", "x.json").stderr
    Path("x.json").write_text(json.dumps({"Z": [[1] * 4] * 8}))
    assert "a tensor that an Einsum computes" in executed("--operands", "x.json").stderr


def test_options_of_the_model_are_no_options_on_the_machine(here):
    done = mapped("--uneven", "all")
    assert done.exit_code == 2
    assert "--uneven is an option of searches by the model" in done.stderr
    for option, value in (("--conventions", "accelforge"), ("--what-if", "SRAM=3KiB")):
        assert f"{option} is an option of searches" in mapped(option, value).stderr
    assert "there is no front" in mapped("--point", "1").stderr
    assert "over two or three metrics" in mapped("--front", "latency,edp").stderr
    other = run("map", "--arch", "wafer_grid", "--workload", "w.yaml", "--machine", "wse2-sdk-sim",
                "--objective", "energy * 2")  # fmt: skip
    assert "latency, energy or edp" in other.stderr


def test_an_einsum_alone_and_einsums_without_exchange_are_mapped_on_the_machine(here):
    whole = json.loads(mapped("--json").stdout)
    assert any("[Host] H" not in run["mapping"] for run in whole["einsums"])
    alone = json.loads(mapped("--json", "--einsum", "Z").stdout)
    assert [run["einsum"] for run in alone["einsums"]] == ["Z"]
    assert "Z/Host/H/read" in alone["einsums"][0]["counts"]
    apart = json.loads(mapped("--json", "--no-fusion").stdout)
    assert apart["exchanges"] == []
    assert apart["einsums"][0]["counts"]["H/Host/H/write"] > 0
    assert apart["einsums"][1]["counts"]["Z/Host/H/read"] > 0
    assert apart["cycles"] >= whole["cycles"]
    assert "no Einsum 'Q'" in mapped("--einsum", "Q").stderr


def test_an_answer_of_the_model_on_a_grid_says_that_the_machine_was_not_asked(here):
    command = ("map", "--workload", "w.yaml", "--no-fusion", "--arch")
    assert "--machine wse2-sdk-sim searches" in run(*command, "wafer_grid").stdout
    assert "--machine" not in run(*command, "tpu_v4i").stdout
    run(*command, "wafer_grid", "--save", "n.yaml")
    evaluated = run("evaluate", "--arch", "wafer_grid", "--workload", "w.yaml", "--mapping",
                    "n.yaml").stdout  # fmt: skip
    assert "`tilewright execute` runs the mapping" in evaluated
    Path("w.yaml").write_text(WORKLOAD.replace("All: 32", "All: 8"))
    assert "--machine" not in run(*command, "wafer_grid").stdout


TALL = """
workload:
  rank_sizes: {M: 101, K: 3}
  bits_per_value: {All: 32}
  einsums: ["y[m] = W[m, k] * x[k]"]
"""


def test_the_certificate_of_a_search_on_the_machine_names_its_restrictions(here):
    """Fewer elements, with more work each, are faster here; the search looks at them, too."""
    Path("w.yaml").write_text(TALL)
    wide, narrow = (
        ("--set", "GridX=8", "--set", "GridY=8"),
        ("--set", "GridX=8", "--set", "GridY=4"),
    )
    answer = json.loads(mapped("--json", *wide).stdout)
    assert answer["search"]["kind"] == "optimal"
    assert answer["search"]["restrictions"][0] == "listed reduction schemes"
    mapped(*narrow, "--save", "m.yaml")
    assert json.loads(executed("--json", *wide).stdout)["cycles"] >= answer["cycles"]
    alone = json.loads(mapped("--json", "--set", "GridX=1", "--set", "GridY=1").stdout)
    assert alone["search"]["restrictions"] == [
        "loops in time above tiles: at most 1",
        "loops on a tile in the order of least work",
        "tiles without gaps",
    ]
    first = json.loads(mapped("--json", "--budget", "0", *wide).stdout)
    assert "shares of least work" in first["search"]["restrictions"]


def test_a_memory_without_room_says_how_large_it_is(here):
    done = mapped("--set", "SRAM.size=2048")
    assert done.exit_code == 3
    assert "too small (256 bytes, of which the machine's own code takes 4,176)" in done.stderr


def test_a_program_text_runs_and_is_shown(here):
    page = EXAMPLES / "a_switch_in_a_ring_deals_words_out.md"
    done = run("run", str(page), "--html", "run.html")
    assert re.search(r"[\d,]+ cycles", done.stdout), done.stderr
    assert "Timeline" in Path("run.html").read_text()
    Path("p.txt").write_text(page.read_text().split("```\n")[1])
    answer = json.loads(run("run", "p.txt", "--json").stdout)
    assert f"{answer['cycles']:,} cycles" in done.stdout
    assert answer["counts"]["wavelet_hops"] > 0
    wrong = run("run", "w.yaml")
    assert wrong.exit_code == 2
    assert "w.yaml:" in wrong.stderr


PIPELINE = """
mapping:
  nodes:
  - !Storage {tensors: [X, Z], component: Host}
  - !Spatial {rank_variable: m, tile_shape: 4, name: "Y", component: Grid}
  - !Temporal {rank_variable: m, tile_shape: 2}
  - !Pipeline
    nodes:
    - !Nested
      nodes:
      - !Spatial {rank_variable: k, tile_shape: 6, name: X, component: Grid}
      - !Storage {tensors: [X, W], component: SRAM}
      - !Storage {tensors: [H], component: SRAM, reduction: all_reduce(chain)}
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: k, tile_shape: 1}
      - !Storage {tensors: [X], component: Scalar}
      - !Temporal {rank_variable: "n", tile_shape: 1}
      - !Compute {einsum: H, component: Engine}
    - !Nested
      nodes:
      - !Spatial {rank_variable: "n", tile_shape: 2, name: X, component: Grid}
      - !Storage {tensors: [H, Z], component: SRAM}
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: "n", tile_shape: 1}
      - !Compute {einsum: Z, component: Engine}
"""


def test_a_pipeline_says_where_a_tile_is_missing(here):
    """Each element has all four columns of H by the all-reduce, and Z wants two of them."""
    Path("m.yaml").write_text(PIPELINE)
    done = executed("--set", "GridX=2", "--set", "GridY=2")
    assert done.exit_code == 2
    assert "H stays in the elements, but Z needs other parts" in done.stderr


def test_a_pipeline_is_executed_with_all_its_outputs(here):
    shares = PIPELINE.replace(
        "rank_variable: k, tile_shape: 6", 'rank_variable: "n", tile_shape: 2'
    )
    Path("m.yaml").write_text(shares)
    grid = ("--set", "GridX=2", "--set", "GridY=2")
    text = executed(*grid, "--passes", "--html", "m.html", "--results", "m.npz").stdout
    assert "H, Z in a pipeline of 2 turns: the results equal numpy" in text
    assert "Z, pass by pass" in text
    assert "H+Z" in Path("m.html").read_text()
    assert "H" not in np.load("m.npz").files
    document = json.loads(executed(*grid, "--json").stdout)
    (pipeline,) = document["pipelines"]
    assert (pipeline["einsums"], pipeline["turns"]) == (["H", "Z"], 2)
    assert document["counts_equal"]
    assert document["equal_to_reference"]
    assert pipeline["lower_bound_cycles"] <= pipeline["cycles"] == document["cycles"]


def test_a_mapping_that_breaks_a_rule_runs_with_the_note_of_evaluate(found, here):
    """No loop may be over X or Y, says the architecture; the mapping was found without that."""
    text = find_files(("wafer_grid",), "hardware")[0].read_text(encoding="utf-8")
    dims = {f"- {{name: {name}, fanout: Grid{name}}}": name for name in "XY"}
    for dim, name in dims.items():
        assert dim in text
        rule = "loop_bounds: [{expression: All, operator: product<=, value: 1}]"
        text = text.replace(dim, f"- {{name: {name}, fanout: Grid{name}, {rule}}}")
    Path("ruled.yaml").write_text(text)
    files = ("--workload", "w.yaml", "--mapping", "m.yaml")
    plain = run("execute", "--arch", "wafer_grid", *files)
    assert plain.exit_code == 0, plain.output
    assert "note: " not in plain.output
    ruled = run("execute", "--arch", "ruled.yaml", *files, "--html", "page.html")
    assert ruled.exit_code == 0, ruled.output
    notes = [line for line in ruled.output.splitlines() if line.startswith("note: ")]
    assert any("the mapping breaks loop_bounds of Grid.X" in note for note in notes)
    document = json.loads(run("execute", "--arch", "ruled.yaml", *files, "--json").stdout)
    assert [f"note: {note}" for note in document["notes"]] == notes
    assert "the mapping breaks loop_bounds of Grid.X" in Path("page.html").read_text()


BY_HAND = """mapping:
  nodes:
  - !Storage {tensors: [X, W, H], component: Host}
  - !Spatial {rank_variable: m, tile_shape: 4, name: X, component: Grid}
  - !Storage {tensors: [H], component: SRAM}
  - !Temporal {rank_variable: k, tile_shape: 4}
  - !Storage {tensors: [X, W], component: SRAM}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Storage {tensors: [X], component: Scalar}
  - !Temporal {rank_variable: n, tile_shape: 1}
  - !Compute {einsum: H, component: Engine}
"""


@pytest.mark.parametrize(
    ("written", "instead", "line", "words"),
    [
        ("component: Engine", "component: MAC", 13, "no Compute 'MAC'"),
        ("einsum: H", "einsum: Q", 13, "no Einsum 'Q'"),
        ("component: Scalar", "component: Scalars", 11, "'Scalars' is not a Memory"),
        ("name: X", "name: Z", 5, "'Grid.Z'"),
        ("k, tile_shape: 1}", "k, tile_shape: 2}", 13, "'k (tile 2)'"),
        ("m, tile_shape: 4", "m, tile_shape: 1", 5, "uses 8 instances"),
        ("[H], component: SRAM", "[H], component: SRAM, reduction: banana", 6, "banana"),
        ("tile_shape: 4}\n  - !Storage {tensors: [X,", "tile_shape: 5}\n  - !Storage {tensors: [X,",
         7, "do not divide the 12 values of k"),
        ("tensors: [X, W], component: SRAM", "tensors: [X, W], component: SRAM, buffers: 3", 13,
         "X has 3 buffers"),
        ("[X, W], component: SRAM", "[X], component: SRAM", 13, "W has no Storage"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_mapping_by_hand_has_its_place(here, written, instead, line, words):
    work = WORKLOAD.split('  - einsum: "Z', maxsplit=1)[0]
    Path("w.yaml").write_text(work)
    assert written in BY_HAND
    Path("m.yaml").write_text("\n" + BY_HAND.replace(written, instead))
    refused = executed()
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert f"m.yaml:{line}:" in refused.stderr


@pytest.mark.usefixtures("found")
def test_costs_on_the_machine_are_those_of_an_execution_without_a_run():
    asked = ("--arch", "wafer_grid", "--workload", "w.yaml", "--mapping", "m.yaml")
    document = json.loads(run("evaluate", *asked, "--machine", "wse2-sdk-sim", "--json").stdout)
    ran = json.loads(executed("--json").stdout)
    assert document["lower_bound_cycles"] == ran["lower_bound_cycles"]
    counts = {key: n for program in document["programs"] for key, n in program["counts"].items()}
    runs = (*ran["einsums"], *ran["exchanges"])
    assert counts == {key: n for each in runs for key, n in each["counts"].items()}
    text = run("evaluate", *asked, "--machine", "wse2-sdk-sim").stdout
    assert "H: counted on wse2-sdk-sim, not executed" in text
    assert f"at least {document['lower_bound_cycles']:,} cycles" in text
    refused = run("evaluate", *asked, "--machine", "wse2-sdk-sim", "--html", "e.html")
    assert refused.exit_code == 2
    assert "--html is an option of costs by the model" in refused.stderr
    assert "wse9" in run("evaluate", *asked, "--machine", "wse9").stderr
