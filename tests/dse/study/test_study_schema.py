"""The JSON Schema of study files against the reader: what ships is valid, a slip is not."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tilewright.arch.errors import SpecError
from tilewright.arch.files.source import load_document
from tilewright.dse.command.shipped import studies_folder
from tilewright.dse.study.reading.study_reader import StudyReader
from tilewright.dse.study.study_file import StudyFile

jsonschema = pytest.importorskip("jsonschema", reason="not installed: pip install jsonschema")

DOCS = Path(__file__).resolve().parents[3] / "docs"
FREE = {"variables", "values", "options", "space"}  # what is below has names of the user's own
SMALL = {
    "name": "small",
    "arch": {"file": "npu.yaml"},
    "workload": {"file": "mlp.yaml"},
    "model": "analytical",
    "objectives": ["energy"],
    "space": {"arch.variables.Lanes": {"values": [8, 16]}},
}


def written_studies() -> dict[str, Any]:
    """Return the studies that ship and those of the tutorials, by a name that tells the place."""
    studies = {str(f.parent.name): f.read_text() for f in studies_folder().glob("*/study.yaml")}
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        for name, text in re.findall(
            r'```yaml title="([^"]+)"\n(.*?)```', page.read_text(), re.DOTALL
        ):
            if re.search(r"^space:", text, re.MULTILINE):
                studies[f"{page.stem}/{name}"] = text
    return {name: yaml.safe_load(text) for name, text in studies.items()}


STUDIES = written_studies()


@pytest.fixture(scope="module")
def schema() -> Any:
    """Return a validator of the schema that ships."""
    document = json.loads((studies_folder() / "study.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def keys(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every key of a study that the study file gives a meaning."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not path or path[-1] not in FREE:
                yield (*path, key)
            yield from keys(inner, (*path, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from keys(inner, (*path, position))


def with_slip(study: Any, path: tuple[str | int, ...]) -> Any:
    """Return a study with one letter too many in one key."""
    changed = copy.deepcopy(study)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[f"{path[-1]}x"] = place.pop(path[-1])
    return changed


def test_there_are_studies_of_both_kinds():
    assert {"wafer_matvec", "first-study/edge.yaml", "walk/npu_study.yaml"} <= STUDIES.keys()


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_is_valid_and_no_misspelt_key_is(schema, name):
    study = STUDIES[name]
    assert [error.message for error in schema.iter_errors(study)] == []
    paths = list(keys(study))
    assert len(paths) > 10
    assert [path for path in paths if schema.is_valid(with_slip(study, path))] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"objectives": [{"metric": "energy * latency ** 2", "goal": "maximize"}]},
        {"constraints": ["area <= 1.2 * base.area", {"metric": "area", "max": "1 mm^2"}]},
        {"search": {"sampler": "optuna.samplers.QMCSampler", "options": {"qmc_type": "halton"}}},
        {"space": {"mapping.up.x": {"values": ["free"]}, "mapper.fusion": {"values": [True]}}},
        {"space": {"arch.Buffer.size": {"pow2": ["1 KiB", 2**20], "name": "size"}}},
    ],
)
def test_the_schema_takes_what_the_reader_takes(schema, changes):
    study = SMALL | changes
    StudyFile.model_validate(study)
    assert schema.is_valid(study)


KNOB = "arch.variables.Lanes"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../other"},
        {"name": "a name with blanks"},
        {"objectives": []},
        {"objectives": [3]},
        {"objectives": ["energy", "energy"]},
        {"constraints": [{"limit": "area <= 1", "metric": "area"}]},
        {"constraints": [{"metric": "area"}]},
        {"constraints": [{"metric": "area", "max": None}]},
        {"constraints": [{"max": 1}]},
        {"space": {"archi.variables.Lanes": {"values": [8]}}},
        {"space": {"mapping.up": {"values": [8]}}},
        {"space": {"mapper.objectve": {"values": ["edp"]}}},
        {"space": {"workload.variables.M": {"values": [8]}}},
        {"space": {KNOB: {"values": [8], "pow2": [1, 2]}}},
        {"space": {KNOB: {"name": "lanes"}}},
        {"space": {KNOB: {"values": [8, 8]}}},
        {"space": {KNOB: {"values": [8, 8.0]}}},
        {"space": {KNOB: {"values": [8], "step": 2}}},
        {"space": {KNOB: {"range": [8, 16], "step": 0}}},
        {"space": {KNOB: {"range": [8]}}},
        {"workloads": [{"file": "mlp.yaml"}]},
        {"workload": None, "workloads": [{"file": "mlp.yaml", "weight": 0}]},
        {"search": {"trials": 0}},
        {"search": {"sampler": "nsga"}},
        {"search": {"limit_s": 0}},
        {"search": {"limit_memory": -1}},
        {"search": {"migration": 8}},
        {"search": {"bounds_first": True}},
        {"mapper": {"max_memory": 0}},
        {"mapper": {"front": "energy"}},
        {"model": "analytic"},
        {"model": "simulated", "mapper": {"budget": 3}, "objectives": ["cycles"]},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(schema, changes):
    study = SMALL | changes
    with pytest.raises(SpecError):
        read(study)
    assert not schema.is_valid(study)


def test_the_reader_takes_the_study_that_is_changed(schema):
    assert read(SMALL).name == "small"
    assert schema.is_valid(SMALL | {"model": "simulated", "objectives": ["cycles"], "mapper": {}})


def read(study: Any) -> Any:
    """Return what the reader makes of the data of a study; its files are not looked for."""
    document = load_document(Path("study.yaml"), text=yaml.safe_dump(study))
    return StudyReader(document, Path(), stored=True).read({}, {})


def test_the_resolved_study_of_a_run_is_valid(schema, toy, tmp_path):
    from design_files import run_here

    run_here(toy, tmp_path, {"search.trials": 2})
    resolved = yaml.safe_load((tmp_path / "run/spec.resolved.yaml").read_text())
    assert [error.message for error in schema.iter_errors(resolved)] == []
