"""The answer of map: its mapping file costs what was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from design_files import ARCH, CHAIN, run


def test_a_saved_mapping_costs_what_was_found(files):
    place = ("--arch", "arch.yaml", "--workload", "work.yaml")
    done = run("map", *place, "--save", "saved.yaml", "--json")
    answer = json.loads(done.stdout)
    assert Path("saved.yaml").read_text() == answer["mapping"]
    score = json.loads(run("evaluate", *place, "--mapping", "saved.yaml", "--json").stdout)
    assert score["energy"] == answer["energy"] == answer["value"]
    assert json.loads(run("validate", "saved.yaml", "--json").stdout)[0]["kind"] == "mapping"
    help_text = " ".join(run("map", "--help").stdout.split())
    assert "--save writes it as a mapping file" in help_text
    assert "--json prints one JSON document" in help_text


def test_map_fuses_and_a_fused_mapping_costs_what_was_found(files):
    Path("work.yaml").write_text(CHAIN)
    text = ARCH.replace("keep: All", "keep: ~Intermediates, may_keep: All")
    Path("arch.yaml").write_text(text.replace("keep: input", "keep: ~Main, may_keep: All"))
    place = ("--arch", "arch.yaml", "--workload", "work.yaml")
    answer = json.loads(run("map", *place, "--save", "fused.yaml", "--json").stdout)
    assert answer["on_chip"] == ["T1"]
    assert answer["notes"] == []
    assert [one["mapping"] for one in answer["front"]] == [answer["mapping"]]
    score = json.loads(run("evaluate", *place, "--mapping", "fused.yaml", "--json").stdout)
    assert [score[name] for name in ("energy", "latency")] == [
        answer[name] for name in ("energy", "latency")
    ]
    assert "kept on chip between Einsums: T1" in run("map", *place).stdout
    alone = json.loads(run("map", *place, "--no-fusion", "--json").stdout)
    assert alone["value"] > answer["value"]
    restrictions = alone["certificate"]["restrictions"]
    assert any(name.startswith("no fusion: ") for name in restrictions)
    assert alone["certificate"]["scope"] == "; ".join(restrictions)
    refused = run("map", *place, "--front", "energy,speed")
    assert refused.exit_code == 2
    assert "no such metric" in refused.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_costs_the_file_not_the_answer(files):
    place = ("--arch", "arch.yaml", "--workload", "work.yaml")
    done = run("map", *place, "--save", "/dev/full", "--json")
    assert done.exit_code == 4
    assert "No space left on device: /dev/full" in done.stderr
    assert json.loads(done.stdout)["verified"]
