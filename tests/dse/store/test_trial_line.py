"""A line of `trials.jsonl`: what a run writes is read back, anything else is refused with why."""

from __future__ import annotations

import json
import math

import pytest

from tilewright.dse.run.record import Trial
from tilewright.dse.store.trial_line import line_of, trial_of

FULL = Trial(
    number=7,
    batch=2,
    batch_size=4,
    key="ab12",
    point={"arch.B.size": 4096, "arch.B.on": True, "kind": "sram", "f": 0.1},
    status="violates",
    baseline="start",
    metrics={"energy": 1e-9, "usage.B": 0.5},
    violations={"area <= 1": 0.25},
    reason="Übergröße\nin two lines",
    same_as=3,
    verified=True,
    proof="bounded",
    gap=0.125,
    mappings=({"energy": 1.0, "latency": 2.0}, {"energy": 2.0, "latency": 1.0}),
    breakdown={"energy": {"DRAM": 0.75, "B": 0.25}},
    sampler={"generation": 3},
    refused=({"point": {"arch.B.size": 1, "kind": "sram"}, "reason": "too small"},),
)


def changed(**fields):
    """Return the line of the trial after somebody edited some fields and kept the checksum."""
    data = json.loads(line_of(FULL))
    return json.dumps({**data, **fields}, ensure_ascii=False)


def test_every_field_is_read_back_from_one_line():
    line = line_of(FULL)
    assert "\n" not in line
    assert trial_of(line) == FULL
    assert line_of(trial_of(line)) == line


@pytest.mark.parametrize(
    "fields",
    [{"metrics": {"energy": 2e-9, "usage.B": 0.5}}, {"status": "feasible"}, {"gap": None},
     {"point": {}}, {"checksum": "00000000"}],
    ids=lambda fields: next(iter(fields)),
)  # fmt: skip
def test_an_edited_line_is_told_by_its_checksum(fields):
    with pytest.raises(ValueError, match="its checksum does not agree"):
        trial_of(changed(**fields))


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("number", -1, "a whole number of at least 0"),
        ("number", True, "a whole number of at least 0"),
        ("batch_size", 0, "a whole number of at least 1"),
        ("key", 5, "text"),
        ("point", {"a": [1]}, "a mapping of knobs to values"),
        ("status", "done", "one of feasible, infeasible"),
        ("metrics", {"energy": "1"}, "a mapping of names to finite numbers"),
        ("metrics", {"energy": 10**400}, "a mapping of names to finite numbers"),
        ("same_as", 1.0, "the number of a trial or null"),
        ("verified", 1, "true, false or null"),
        ("proof", "sure", "optimal, bounded or null"),
        ("mappings", [{"energy": None}], "a list of metrics"),
        ("breakdown", {"energy": 1.0}, "a mapping of metrics to shares by component"),
        ("sampler", [], "a mapping"),
    ],
)
def test_a_field_of_a_wrong_kind_is_named(field, value, text):
    with pytest.raises(ValueError, match=f"^{field} must be {text}"):
        trial_of(changed(**{field: value}))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[1]", "it is not an object"),
        ("[" * 100_000, "nests too deeply"),
        ("{}", "the key number is missing"),
        (changed(more=1), "the key more is unknown"),
        (line_of(FULL).replace("1e-09", "NaN"), "NaN is no finite number"),
        (line_of(FULL).replace("1e-09", "-Infinity"), "-Infinity is no finite number"),
    ],
    ids=["list", "deep", "empty", "unknown", "NaN", "infinity"],
)
def test_what_no_run_writes_is_refused(line, text):
    with pytest.raises(ValueError, match=text):
        trial_of(line)


def test_a_line_without_a_checksum_is_refused():
    data = json.loads(line_of(FULL))
    del data["checksum"]
    with pytest.raises(ValueError, match="the key checksum is missing"):
        trial_of(json.dumps(data))


def test_no_line_holds_what_json_has_no_number_for():
    with pytest.raises(ValueError, match="not JSON compliant"):
        line_of(Trial(**{**vars_of(FULL), "metrics": {"energy": math.inf}}))


def vars_of(trial):
    return {name: getattr(trial, name) for name in trial.__dataclass_fields__}
