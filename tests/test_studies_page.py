"""docs/studies.md: its YAML is read, its Python runs, its commands answer, its lists are whole."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest
import yaml
from design_files import ARCH, WORKLOAD, run
from doc_pages import DOCS, blocks

from tilewright.arch.files.document import Document
from tilewright.arch.files.source import load_document
from tilewright.dse.models.evaluators import METRICS
from tilewright.dse.run.rundir import RunDirectory
from tilewright.dse.sampling.sampler_names import NAMES
from tilewright.dse.study.reading.knob_reader import KnobReader
from tilewright.dse.study.study_file import SearchItem, StudyFile

PAGE = "studies.md"
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")
STUDY = """\
name: mine
arch: {file: arch.yaml}
workload: {file: work.yaml}
model: analytical
objectives: [energy, latency, area]
space:
  arch.Buffer.size: {values: [512, 1024], name: lb}
  arch.variables.Lanes: {values: [2, 4]}
search: {sampler: grid, batch: 4}
baselines: [{name: as it is, values: {lb: 512, arch.variables.Lanes: 4}}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's with a study, which is the working directory."""
    for name, text in (("arch", ARCH), ("work", WORKLOAD), ("my_study", STUDY)):
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(heading: str) -> list[list[str]]:
    """Return the rows of the first table after a heading."""
    lines = TEXT.partition(heading)[2].splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("|"))
    rows = takewhile(lambda line: line.startswith("|"), lines[first:])
    return [re.split(r" ?(?<!\\)\| ?", row.strip("| ")) for row in rows][2:]


def test_the_knobs_of_the_page_are_read():
    (text,) = blocks(PAGE, "yaml")
    document: Document = load_document("studies.md", text=f"{STUDY.partition('space:')[0]}{text}")
    file = StudyFile.model_validate(yaml.safe_load(yaml.safe_dump(document.data)))
    space = KnobReader(document).space(file)
    assert len(space.dimensions) == text.count("{")
    assert space.dimensions[0].values == tuple(2**n for n in range(25, 32))


def test_the_page_has_every_key_sampler_and_metric():
    keys = {key for row in table("## The study file") for key in re.findall(r"`(\w+)`", row[0])}
    assert keys == set(StudyFile.model_fields)
    search = next(row[1] for row in table("## The study file") if row[0] == "`search`")
    named = set(re.findall(r"\w+", search.partition("}")[0]))
    assert named | {"bounds_first"} == set(SearchItem.model_fields)
    assert "`search: {bounds_first: true}`" in TEXT
    samplers = TEXT.partition("\nSamplers: ")[2].partition("\n## ")[0]
    assert set(NAMES) <= set(re.findall(r"`(\w+)`", samplers))
    metrics = TEXT.partition("\nMetrics: ")[2].partition("\n\n")[0]
    assert {name for names in METRICS.values() for name in names} <= set(
        re.findall(r"`([\w.]+)`", metrics)
    )


def test_the_python_of_the_page_runs(folder):
    assert run("study", "run", "my_study.yaml", "--out", "runs/tpu_v4i_gpt3").exit_code == 0
    names: dict[str, object] = {}
    codes = blocks(PAGE, "python")
    assert len(codes) == 2
    for code in codes:
        if "to_pandas" in code:
            pytest.importorskip("pandas", reason="not installed: pip install pandas")
        exec(compile(code, f"docs/{PAGE}", "exec"), names)
    assert len(names["table"]) == 5, "four designs, the reference twice"
    assert names["result"].ending == "done"
    assert Path("runs/mine/report.html").is_file()


def test_the_commands_of_the_page_answer(folder):
    places = {"RUN": "runs/mine", "TRIAL": "1", "A": "0", "B": "1", "F": "out", "DIR": "runs/new"}
    assert run("study", "run", "my_study.yaml", "--workers", 1).exit_code == 0
    asked = [
        code for row in table("## Asking a run") for code in re.findall(r"`(study [^`]+)`", row[0])
    ]
    assert len(asked) >= 9
    for command in asked:
        words = [places.get(w, w) for w in shlex.split(command.replace("[", "").replace("]", ""))]
        if "--parquet" in words:
            words = words[: words.index("--parquet")]
        done = run(*words)
        assert done.exit_code == 0, (command, done.output)
        assert done.output.strip(), command
    assert RunDirectory.open(Path("runs/new")).trials()
