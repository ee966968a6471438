"""Damaged workload and mapping files end as valid or as an error with file and line."""

from __future__ import annotations

import json
import resource
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from mutations import mutate

from tilewright.arch.errors import TilewrightError
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload
from tilewright.mapper.workload.workload_render import cascade_mermaid, cascade_text

SECONDS, MEGABYTES = 2.0, 500
Kind = Literal["arch", "workload", "mapping"]
KINDS: tuple[Kind, ...] = ("arch", "workload", "mapping")


@dataclass(frozen=True)
class Design:
    """Three texts that belong together, and what they load to."""

    texts: dict[Kind, str]
    arch: Arch
    workload: Workload
    mapping: Mapping


@pytest.fixture(scope="module")
def designs(root: Path) -> list[Design]:
    """The reference designs that can be scored; they are in the repository."""
    file = root / "tests/conformance/data/model_vectors.json"
    found = []
    for vector in json.loads(file.read_text())["vectors"]:
        if "error" in vector:
            continue
        texts: dict[Kind, str] = {kind: vector[kind] for kind in KINDS}
        arch, workload = load_arch(texts["arch"]), load_workload(texts["workload"])
        try:
            evaluate(arch, workload, load_mapping(texts["mapping"]))
        except TilewrightError:
            continue  # one of those that must be refused
        found.append(Design(texts, arch, workload, load_mapping(texts["mapping"])))
    return found


def _use(design: Design, kind: Kind, text: str) -> str:
    """Do with a damaged file what the framework does; return how it ended."""
    arch, workload, mapping = design.arch, design.workload, design.mapping
    try:
        document = load_document(f"/nowhere/{kind}.yaml", text=text)
        if kind == "arch":
            arch = load_arch(document)
        elif kind == "workload":
            workload = load_workload(document)
            assert load_workload(dump_workload(workload)) == workload
            cascade_text(workload)
            cascade_mermaid(workload)
        else:
            mapping = load_mapping(document)
            assert load_mapping(dump_mapping(mapping)) == mapping
            str(mapping)
    except TilewrightError as error:
        return "error" if _names_its_place(error) else f"error without a place: {error}"
    try:
        for conventions in ("default", "accelforge"):
            json.dumps(evaluate(arch, workload, mapping, conventions).to_dict(), allow_nan=False)
    except TilewrightError as error:
        return "misfit" if _is_short(error) else f"a message too long: {error}"
    return "valid"


def _names_its_place(error: TilewrightError) -> bool:
    return error.where is not None and error.where.line is not None and _is_short(error)


def _is_short(error: TilewrightError) -> bool:
    return 0 < len(str(error)) < 3000


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _run(designs: list[Design], seeds: range) -> Counter[str]:
    ends: Counter[str] = Counter()
    before = _peak_megabytes()  # of this process, which may have run other tests
    for seed in seeds:
        design = designs[seed % len(designs)]
        kind = KINDS[seed // len(designs) % len(KINDS)]
        text = mutate(design.texts[kind], seed)
        start = time.process_time()
        try:
            end = _use(design, kind, text)
        except Exception as error:  # name the seed, so that it can be looked at
            pytest.fail(f"seed {seed}, {kind}: {type(error).__name__}: {error}\n{text}")
        assert end in ("valid", "misfit", "error"), f"seed {seed}, {kind}: {end}\n{text}"
        ends[end] += 1
        took = time.process_time() - start
        assert took < SECONDS, f"seed {seed}, {kind} took {took:.1f} s\n{text}"
    grown = _peak_megabytes() - before
    assert grown < MEGABYTES, f"{grown:.0f} MB more than before"
    return ends


def test_the_first_mutations(designs: list[Design]) -> None:
    """One round: every design, every kind of file."""
    assert len(designs) > 80
    ends = _run(designs, range(3 * len(designs)))
    assert ends["valid"] > 20  # the injuries are not all fatal,
    assert ends["error"] > 100  # and most are noticed


@pytest.mark.nightly
def test_a_thousand_mutations_of_designs(designs: list[Design], shift: int) -> None:
    ends = _run(designs, range(shift + 10_000, shift + 11_000))
    assert sum(ends.values()) == 1000
