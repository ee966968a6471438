"""tilewright arch list, arch show."""

from __future__ import annotations

import json

from design_files import ARCH, run


def test_list_names_what_ships():
    text = run("arch", "list").stdout
    assert "edge_npu\n    A neural processing unit" in text
    listed = json.loads(run("arch", "list", "--json").stdout)
    assert {"tpu_v4i", "wafer_grid"} <= {each["name"] for each in listed}


def test_show_a_file_with_settings(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("# Four lanes.\n" + ARCH)
    done = run("arch", "show", path, "--set", "Lanes=8", "--set", "Buffer.size=16")
    assert done.exit_code == 0, done.stderr
    assert "Four lanes." in done.stdout
    assert "8 X" in done.stdout
    assert "2 B" in done.stdout
    document = json.loads(run("arch", "show", path, "--json").stdout)
    assert [each["name"] for each in document["components"]] == ["Main", "Buffer", "Array", "MAC"]
    assert document["variables"] == {"Lanes": 4}
    assert document["area"] == 1e-6 + 4 * 1e-8


def test_unknown_names_are_errors():
    done = run("arch", "show", "edge_npv")
    assert done.exit_code == 2
    assert "did you mean edge_npu?" in done.stderr
    done = run("arch", "show", "edge_npu", "--set", "PEZ=4")
    assert done.exit_code == 2
    assert "PEX" in done.stderr
