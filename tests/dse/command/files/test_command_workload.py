"""tilewright workload list, workload show."""

from __future__ import annotations

import json

from design_files import run


def test_list_names_what_ships():
    text = run("workload", "list").stdout
    assert "bert_base\n    One encoder layer of BERT-base\n    14 Einsums" in text
    listed = json.loads(run("workload", "list", "--json").stdout)
    assert {"resnet50", "mlp4"} <= {each["name"] for each in listed}


def test_show_with_a_variable():
    done = run("workload", "show", "mlp4", "--set", "BATCH=3")
    assert done.exit_code == 0, done.stderr
    assert "3 × 1024" in done.stdout
    document = json.loads(run("workload", "show", "mlp4", "--json").stdout)
    assert document["tensors"][0]["to"] == ["H2"]


def test_unknown_names_are_errors():
    done = run("workload", "show", "mlp5")
    assert done.exit_code == 2
    assert "did you mean mlp4?" in done.stderr
    done = run("workload", "show", "mlp4", "--set", "BACH=4")
    assert done.exit_code == 2
    assert "did you mean BATCH" in done.stderr
