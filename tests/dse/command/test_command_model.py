"""Commands on one design: evaluate and map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from design_files import CHAIN, run


def test_several_files_are_read_as_one(split):
    checked = run("validate", *split, "--json")
    assert checked.exit_code == 0, checked.stderr
    assert [v["summary"] for v in json.loads(checked.stdout)] == ["2 components", "1 Einsum"]
    scored = run("evaluate", *split, "--mapping", "nest.yaml", "--set", "TILE=2", "--json")
    assert json.loads(scored.stdout)["energy"] == 2 * 8, scored.stderr
    dear = run("evaluate", *split, "--mapping", "nest.yaml",
               "--set", "TILE=2", "--set", "E=5", "--json")  # fmt: skip
    assert json.loads(dear.stdout)["energy"] == 5 * 8, dear.stderr
    mapped = run("map", *split, "--set", "E=4", "--json")
    assert json.loads(mapped.stdout)["energy"] == 4 * 8, mapped.stderr


def test_set_changes_fields_and_refuses_names_that_are_no_variables(split):
    nest = ("--mapping", "nest.yaml", "--set", "TILE=2")
    dear = run("evaluate", *split, *nest, "--set", "DRAM.actions.read.energy=7", "--json")
    assert json.loads(dear.stdout)["energy"] == 7 * 4 + 2 * 4, dear.stderr
    mapped = run("map", *split, "--set", "DRAM.actions.read.energy=7", "--json")
    assert json.loads(mapped.stdout)["energy"] == 7 * 4 + 2 * 4, mapped.stderr
    for name, says in (
        ("DRAM", "--set DRAM.FIELD=8, for example DRAM.size"),
        ("A", "no file here has a variable A"),
        ("DRAM.sise", "did you mean size?"),
        ("DRUM.size", "did you mean DRAM?"),
    ):
        done = run("map", *split, "--set", f"{name}=8")
        assert done.exit_code == 2
        assert says in done.stderr


def test_map_and_evaluate_agree(files):
    done = run(
        "map", "--arch", "arch.yaml", "--workload", "work.yaml", "--objective", "edp", "--json"
    )
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {"value", "energy", "latency", "edp", "certificate", "mapping", "seconds"} <= set(answer)
    assert {"kind", "lower_bound", "gap"} <= set(answer["certificate"])
    assert answer["value"] == answer["edp"]
    Path("best.yaml").write_text(answer["mapping"])
    score = json.loads(
        run("evaluate", "--arch", "arch.yaml", "--workload", "work.yaml", "--mapping", "best.yaml",
            "--json").stdout
    )  # fmt: skip
    assert {name: score[name] for name in ("energy", "latency", "edp")} == {
        name: answer[name] for name in ("energy", "latency", "edp")
    }
    text = run(
        "evaluate", "--arch", "arch.yaml", "--workload", "work.yaml", "--mapping", "best.yaml"
    )
    assert "By component" in text.stdout
    mapped = run("map", "--arch", "arch.yaml", "--workload", "work.yaml", "--objective", "edp")
    assert "compute up" in mapped.stdout
    nest_and_tables = text.stdout.partition("verified:")[0]
    assert mapped.stdout.startswith(nest_and_tables)
    for document in (answer, score):
        assert sum(each["energy"] for each in document["by_component"]) == pytest.approx(
            score["energy"]
        )
        assert document["nest"][0] == {
            "depth": 0, "kind": "storage", "name": "Main",
            "bits": {"tokens": 512, "WU": 1024, "up": 256},
        }  # fmt: skip


def test_evaluate_prints_the_notes_of_the_score(files):
    place = ("--arch", "arch.yaml", "--workload", "work.yaml")
    assert run("map", *place, "--save", "one.yaml").exit_code == 0
    assert "note:" not in run("evaluate", *place, "--mapping", "one.yaml").stdout
    Path("work.yaml").write_text(CHAIN)
    done = run("map", *place, "--save", "two.yaml")
    assert done.exit_code == 0, done.stderr
    text = Path("two.yaml").read_text()
    assert "!Sequential" in text
    Path("two.yaml").write_text(text.replace("!Sequential", "!Pipeline"))
    given = ("evaluate", *place, "--mapping", "two.yaml")
    notes = json.loads(run(*given, "--json").stdout)["notes"]
    assert notes
    lines = run(*given).stdout.splitlines()
    assert [line for line in lines if line.startswith("note: ")] == [f"note: {n}" for n in notes]


def test_set_reaches_architecture_and_workload(files):
    def area(lanes):
        done = run("map", "--arch", "arch.yaml", "--workload", "work.yaml", "--json",
                   "--set", f"Lanes={lanes}")  # fmt: skip
        return json.loads(done.stdout)["area"]

    assert area(8) > area(1)
