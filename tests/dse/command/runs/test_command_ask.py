"""The commands that ask a run: their answers, and one JSON document each."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from design_files import run

QUERY = Path(__file__).parents[2] / "query" / "conftest.py"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    from design_files import ARCH, WORKLOAD

    from tilewright.dse import RunSettings, load_study, start_study

    spec = importlib.util.spec_from_file_location("query_conftest", QUERY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("ask")
    for name, text in (("arch", ARCH), ("work", WORKLOAD), ("study", module.STUDY)):
        (folder / f"{name}.yaml").write_text(text)
    start_study(load_study(folder / "study.yaml"), folder / "run", RunSettings())
    return folder / "run"


def test_answers_as_text_and_json(finished, tmp_path):
    asked = {
        "query": (finished, "latency < 1 ms and buf <= 64 B", "--sort", "edp", "--front",
                  "energy,latency"),
        "show": (finished, 0),
        "explain": (finished, 0),
        "diff": (finished, 0, 3),
        "compare": (finished, finished),
    }  # fmt: skip
    for name, arguments in asked.items():
        text, document = run("study", name, *arguments), run("study", name, *arguments, "--json")
        assert text.exit_code == document.exit_code == 0, (name, text.stderr)
        assert text.stdout.strip()
        json.loads(document.stdout)
    done = run("study", "export", finished, "--csv", tmp_path / "a.csv")
    assert done.exit_code == 0
    assert run("study", "query", finished, "enrgy < 1").exit_code == 2
