"""Study files: the values of knobs, defaults, and errors with file and line."""

from __future__ import annotations

import json

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.study.knobs import knobs_text
from tilewright.dse.study.study_loading import load_study


def knob_values(toy, folder, knob):
    text = toy.STUDY.replace("{range: [1, 16]}", knob).replace("GridY: 1\n", "GridY: 4\n")
    spec = load_study(toy.write_study(folder, text))
    return list(spec.space.dimensions[1].values)


@pytest.mark.parametrize(
    ("knob", "values"),
    [
        ("{range: [1, 10], step: 3}", [1, 4, 7, 10]),
        ("{range: [2, 7], step: 2}", [2, 4, 6]),
        ("{pow2: [2, 16]}", [2, 4, 8, 16]),
        ("{pow2: [2**2, 4*4]}", [4, 8, 16]),
        ("{values: [4, 9, 5]}", [4, 9, 5]),
        ("{values: [2**2, 1 B, 1 KiB]}", [4, 8, 8192]),
    ],
)
def test_values_of_a_knob(toy, tmp_path, knob, values):
    assert knob_values(toy, tmp_path, knob) == values


OPTIONS = """\
name: options
arch: {file: edge_npu}
workload: {file: mlp4}
model: analytical
mapper: {max_memory: 2 GB, budget: 500 ms}
objectives: [energy]
space:
  mapper.max_memory: {values: [1 GB, 2e9]}
  mapper.budget: {values: [1, 2 s]}
  mapper.uneven: {values: ['', 'm,k', all]}
  mapper.front: {values: ['', 'energy,usage.Glb']}
search: {limit_memory: 600 MB}
"""


def test_options_of_the_mapper_have_units_and_bytes_are_no_bits(tmp_path):
    (tmp_path / "study.yaml").write_text(OPTIONS)
    spec = load_study(tmp_path / "study.yaml")
    values = {each.path: list(each.values) for each in spec.space.dimensions}
    assert values["mapper.max_memory"] == [1e9, 2e9]
    assert values["mapper.budget"] == [1, 2]
    assert spec.mapper["max_memory"] == 2e9
    assert spec.mapper["budget"] == 0.5
    assert spec.limits.memory == 600e6


def test_fractions_do_not_drift(toy, tmp_path):
    text = toy.STUDY.split("baselines:")[0].replace("[1, 16]", "[0.1, 0.7], step: 0.1")
    values = load_study(toy.write_study(tmp_path, text)).space.dimensions[1].values
    assert list(values) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]


def test_only_rising_numbers_have_an_order(toy, tmp_path):
    spec = load_study(toy.write_study(tmp_path))
    assert [d.ordered for d in spec.space.dimensions] == [True, True, False, True]
    assert spec.space.size == 6 * 16 * 3 * 3
    every = {spec.space.nth(number) for number in range(spec.space.size)}
    assert len(every) == spec.space.size
    assert all(spec.space.choice(spec.space.point(choice)) == choice for choice in every)


WRONG = [
    ("seed: 11", "seed: -1", "seed must be at least 0", 3),
    ("model: simulated", "modle: simulated", "unknown field modle", 6),
    ("{metric: cycles}", "{metric: cylces}", "gives no metric of that name", 9),
    ("{metric: cycles}", "{metric: energy}", "objective energy is named twice", 9),
    ("max: 48 * 1024 * 8", "min: ", "needs max or min", 11),
    ("max: 48 * 1024 * 8", "max: 48 * K", "K", 11),
    ("{range: [1, 16]}", "{range: [16, 1]}", "a range goes up", 14),
    ("{range: [1, 16]}", "{range: [1, 16], pow2: [1, 2]}", "exactly one of", 14),
    ("{range: [1, 16]}", "{range: [0.5, 16]}", "needs a step", 14),
    ("{range: [1, 16]}", "{range: [1, 1e9]}", "more than a million", 14),
    ("{pow2: [1, 32]}", "{pow2: [1, 33]}", "powers of two", 13),
    ("{values: [16, 64, 256]}", "{values: [16, 64, 16]}", "listed twice", 16),
    ("arch.variables.GridX: {", "grid.X: {", "a knob is arch.<path>", 13),
    ("    mapping.up.tile: 64", "    mapping.up.tile: 63", "has no such value", 24),
    ("    mapping.up.tile: 64\n", "", "leaves out mapping.up.tile, and what the files have", 21),
    ("    mapping.up.tile: 64", "    til: 64", "did you mean tile?", 24),
    ("    mapping.up.tile: 64", "    tile: 64\n    mapping.up.tile: 64", "is given twice", 25),
    ("file: arch.yaml", "file: arhc.yaml", "there is no such file", 4),
]


@pytest.mark.parametrize(("old", "new", "words", "line"), WRONG, ids=[w[2] for w in WRONG])
def test_what_is_wrong_is_said_with_its_line(toy, tmp_path, old, new, words, line):
    assert old in toy.STUDY
    path = toy.write_study(tmp_path, toy.STUDY.replace(old, new, 1))
    with pytest.raises(SpecError) as caught:
        load_study(path)
    assert words in str(caught.value)
    assert caught.value.where.file == str(path)
    assert caught.value.where.line == line, str(caught.value)


def test_defaults_follow_the_number_of_objectives(toy, tmp_path):
    several = load_study(toy.write_study(tmp_path, toy.STUDY.replace("sampler: nsga2, ", "")))
    one = load_study(
        toy.write_study(
            tmp_path,
            toy.STUDY.replace("sampler: nsga2, ", "").replace("- {metric: energy}\n", ""),
        )
    )
    assert (several.sampler, one.sampler) == ("nsga2", "tpe")


BAD_NAMES = ["../../../esc", "/tmp/esc", "..", ".hidden", "a/b", "a\\b", "", "a b", "ü", "x" * 101]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_a_path_is_refused_with_its_line(toy, tmp_path, name):
    path = toy.write_study(tmp_path, toy.STUDY.replace("name: toy", f"name: {json.dumps(name)}", 1))
    with pytest.raises(SpecError, match="the name of a study") as caught:
        load_study(path)
    assert (caught.value.where.file, caught.value.where.line) == (str(path), 1)
    with pytest.raises(SpecError, match="the name of a study"):
        load_study(toy.write_study(tmp_path), {"name": name})


@pytest.mark.parametrize("name", ["toy", "Toy-2.1_b", "_x", "9"])
def test_plain_names_are_kept(toy, tmp_path, name):
    path = toy.write_study(tmp_path, toy.STUDY.replace("name: toy", f'name: "{name}"', 1))
    assert load_study(path).name == name


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("{metric: sram_bits, max: 48 * 1024 * 8}", "energy <= 1 ms", "not measured in ms"),
        ("{range: [1, 16]}", "{values: [4, 8 BB]}", "there is no unit BB"),
    ],
)
def test_units_that_do_not_go_with_a_field(toy, tmp_path, before, after, message):
    text = toy.STUDY.replace(before, after).replace("GridY: 1\n", "GridY: 4\n")
    with pytest.raises(SpecError, match=message):
        load_study(toy.write_study(tmp_path, text))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("mapper.budget", "2 GB", "GB is no unit of time"),
        ("mapper.max_memory", "3 s", "s is no unit of bits"),
        ("search.limit_s", "2 MiB", "MiB is no unit of time"),
        ("search.limit_memory", "1 GHz", "GHz is no unit of bits"),
    ],
)
def test_a_limit_in_a_unit_of_something_else(toy, tmp_path, key, value, words):
    text = toy.write_study(tmp_path).read_text().replace("model: simulated", "model: analytical")
    text = text.replace("- {metric: cycles}", "").replace("  mapping.", "  # mapping.")
    text = (
        text[: text.index("constraints:")] + text[text.index("space:") : text.index("baselines:")]
    )
    (tmp_path / "units.yaml").write_text(text)
    with pytest.raises(SpecError, match=words):
        load_study(tmp_path / "units.yaml", {key: value})


@pytest.mark.parametrize(
    "knob", [{"values": ["3 ms"]}, {"pow2": ["1 s", "4 s"]}, {"range": [1, "4 W"]}]
)
def test_a_size_in_a_unit_of_something_else(toy, tmp_path, knob):
    text = toy.write_study(tmp_path).read_text()
    knobs = f"arch.SRAM.size: {json.dumps(knob)}\n  arch.variables.GridY"
    (tmp_path / "units.yaml").write_text(text.replace("arch.variables.GridY", knobs, 1))
    with pytest.raises(SpecError, match="is no unit of bits"):
        load_study(tmp_path / "units.yaml")


def test_a_limit_of_a_metric_in_a_unit_of_something_else(toy, tmp_path):
    path = toy.write_study(tmp_path)
    with pytest.raises(SpecError, match="energy is not measured in ms"):
        load_study(path, {"constraints": [{"metric": "energy", "max": "3 ms"}]})


OWN = """\
name: own
arch: {file: edge_npu, values: {Register.size: 2048}}
workload: {file: mlp4}
model: analytical
mapper: {uneven: [all]}
objectives: [energy]
space:
  arch.variables.GlbKiB: {pow2: [64, 512]}
  arch.GlobalBuffer.size: {values: [1 MiB, 256 KiB]}
  arch.PEArray.spatial.x.fanout: {values: [8, 16]}
  arch.Register.size: {values: [2048, 4096]}
  workload.BATCH: {values: [64, 256]}
  workload.rank_sizes.M: {values: [256, 32]}
  mapper.fusion: {values: [false, true]}
  mapper.uneven: {values: ['', all]}
search: {sampler: grid, trials: 4}
baselines:
- name: today
  values: {arch.PEArray.spatial.x.fanout: 8}
"""


def test_a_baseline_has_what_the_files_have_where_it_leaves_out_a_knob(tmp_path):
    """Variables, expressions of these, fields that the study writes anew, defaults of templates."""
    (tmp_path / "study.yaml").write_text(OWN)
    spec = load_study(tmp_path / "study.yaml")
    (today,) = spec.baselines
    assert today.point == {
        "arch.variables.GlbKiB": 256,
        "arch.GlobalBuffer.size": 256 * 1024 * 8,
        "arch.PEArray.spatial.x.fanout": 8,
        "arch.Register.size": 2048,
        "workload.BATCH": 256,
        "workload.rank_sizes.M": 256,
        "mapper.fusion": True,
        "mapper.uneven": "all",
    }
    assert set(today.own) == set(today.point) - {"arch.PEArray.spatial.x.fanout"}
    assert spec.resolved["baselines"][0]["values"] == today.point
    assert knobs_text(spec.space, today.own).startswith("GlbKiB 256, GlobalBuffer.size 256 KiB, ")
    assert type(today.point["mapper.fusion"]) is bool


def test_a_grid_s_baseline_has_free_choices_and_the_machine_s_own_numbers(tmp_path):
    (tmp_path / "study.yaml").write_text(
        "name: own\narch: {file: wafer_grid}\nworkload: {file: llama_projections}\n"
        "model: simulated\nobjectives: [cycles]\nspace:\n"
        "  machine.hop_cycles: {values: [2, 1]}\n  mapping.key.x: {values: [d, free]}\n"
        "search: {trials: 2}\nbaselines: [{name: today, values: {}}]\n"
    )
    (today,) = load_study(tmp_path / "study.yaml").baselines
    assert today.point == {"machine.hop_cycles": 1, "mapping.key.x": "free"}


@pytest.mark.parametrize(
    ("knob", "own"),
    [
        ("arch.variables.GlbKiB: {pow2: [512, 1024]}", "256"),
        ("workload.BATCH: {values: [16, 64]}", "256"),
        ("mapper.budget: {values: [1, 2]}", None),
    ],
)
def test_a_knob_that_a_baseline_leaves_out_needs_a_value_of_the_space(tmp_path, knob, own):
    head, _, rest = OWN.partition("space:\n")
    tail = rest[rest.index("search:") :].replace("arch.PEArray.spatial.x.fanout: 8", "")
    (tmp_path / "study.yaml").write_text(f"{head}space:\n  {knob}\n{tail}")
    with pytest.raises(SpecError) as caught:
        load_study(tmp_path / "study.yaml")
    words = (
        f"the files have is no value of this knob\n  at:      {tmp_path}" if own else "missing: "
    )
    assert words in str(caught.value)
    assert own is None or f"value:   {own}" in str(caught.value)
    assert "study.yaml" in str(caught.value)
