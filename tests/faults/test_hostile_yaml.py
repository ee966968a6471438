"""Damaged and malicious architecture files end as valid or as an error with file and line."""

from __future__ import annotations

import json
import resource
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from mutations import mutate

from tilewright.arch.components.components import TensorHolder
from tilewright.arch.components.cost_table import load_cost_table
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import TilewrightError
from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.printing import dump_arch
from tilewright.arch.spec.render import svg

SECONDS, MEGABYTES = 2.0, 500


@pytest.fixture(scope="module")
def originals(shared_data: Path) -> list[str]:
    """Valid files of both kinds: the public examples and the reference designs."""
    texts = [p.read_text() for p in sorted((shared_data / "accelforge/arches").rglob("*.yaml"))]
    vectors = json.loads((shared_data / "vectors/model_vectors.json").read_text())["vectors"]
    texts += [vector["arch"] for vector in vectors]
    return texts


def _scope() -> Scope:
    sets = {"All": "ABZ", "Inputs": "AB", "Outputs": "Z", "Intermediates": "", "input": "A"}
    sets |= {"weight": "B", "output": "Z", "Shared": "", "Persistent": "", "Nothing": ""}
    return Scope(
        einsum="Z",
        tensors=("A", "B", "Z"),
        rank_variables=("m", "n", "k"),
        sets={name: frozenset(members) for name, members in sets.items()},
        rank_variables_of={"A": frozenset("mk"), "B": frozenset("kn"), "Z": frozenset("mn")},
        bits_per_value=dict.fromkeys("ABZ", Fraction(8)),
    )


def _use(text: str, table: object) -> str:
    """Do with a file what the framework does; return how it ended."""
    try:
        arch = load_arch(load_document("/nowhere/mutated.yaml", text=text))
        arch = arch.with_estimators(table)  # type: ignore[arg-type]
        svg(arch)
        assert load_arch(dump_arch(arch)) == arch
        for scope in (None, _scope()):
            for flat in flatten(arch, scope):
                _ = flat.area_by_component, flat.graph
                for component in flat.components:
                    if scope is not None and isinstance(component, TensorHolder):
                        component.tensors.resolve({})
    except TilewrightError as error:
        return "error" if _names_its_place(error) else f"error without a place: {error}"
    return "valid"


def _names_its_place(error: TilewrightError) -> bool:
    return error.where is not None and error.where.line is not None and len(str(error)) < 3000


def _run(originals: list[str], seeds: range, shared_data: Path) -> Counter[str]:
    table = load_cost_table(shared_data / "accelforge/hwcomponents_expected.json", "eyeriss")
    ends: Counter[str] = Counter()
    before = _peak()
    for seed in seeds:
        text = mutate(originals[seed % len(originals)], seed)
        start = time.process_time()
        try:
            end = _use(text, table)
        except Exception as error:  # name the seed, so that it can be looked at
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{text}")
        assert end in ("valid", "error"), f"seed {seed}: {end}"
        ends[end] += 1
        took = time.process_time() - start
        assert took < SECONDS, f"seed {seed} took {took:.1f} s"
    grown = _peak() - before  # other tests may have run in this process
    assert grown < MEGABYTES, f"{grown:.0f} MB"
    return ends


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_originals_are_valid(originals: list[str], shared_data: Path) -> None:
    table = load_cost_table(shared_data / "accelforge/hwcomponents_expected.json", "simba")
    assert len(originals) > 90
    ends = Counter(_use(text, table) for text in originals)
    assert ends["valid"] >= len(originals) - 1  # eyeriss needs the figures of its own section


def test_three_hundred_mutations(originals: list[str], shared_data: Path) -> None:
    ends = _run(originals, range(300), shared_data)
    assert ends["valid"] > 10  # the injuries are not all fatal,
    assert ends["error"] > 150  # and most are noticed


@pytest.mark.nightly
def test_a_thousand_mutations(originals: list[str], shared_data: Path, shift: int) -> None:
    ends = _run(originals, range(shift + 1000, shift + 2000), shared_data)
    assert sum(ends.values()) == 1000


BILLION_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            BILLION_LAUGHS,
            (
                "the file stands for more than 400000 values once its aliases and includes are "
                "written out\n  at:      bad.yaml:6:24\n  instead: remove aliases of aliases"
            ),
        ),
        (
            (
                "arch:\n  nodes:\n  - !Memory\n    name: M\n    size: -8\n"
                "    component_class: Dummy\n"
                "  - !Compute {name: C, component_class: Dummy}\n"
            ),
            (
                "size must not be negative\n  at:      bad.yaml:5:11 (arch.nodes[0].size)\n"
                "  value:   -8\n  instead: write 0 or more"
            ),
        ),
        (
            (
                "arch:\n  nodes:\n  - !Memory\n    name: M\n    size: __import__('os').getpid()\n"
                "    component_class: Dummy\n  - !Compute {name: C, component_class: Dummy}\n"
            ),
            (
                "`__import__('os').getpid()` (column 1) is not allowed in an expression\n"
                "  at:      bad.yaml:5:11 (arch.nodes[0].size)\n"
                "  value:   \"__import__('os').getpid()\"\n"
                "  instead: allowed are numbers, names, + - * / // % **, comparisons, "
                "and / or / not, A if C else B, & | ~ - ^ on sets, calls such as max(...), "
                "and `f(a) for a in list` inside a call"
            ),
        ),
        (
            "arch:\n  nodes:\n  - !Memory {name: M, size: 8, component_class: Dummy}\n",
            (
                "the architecture has no Compute\n  at:      bad.yaml:3:3 (arch.nodes)\n"
                "  instead: end the list of nodes with `- !Compute`"
            ),
        ),
        (
            "arch:\n  nodes:\n  - !Compute {name: C, component_class: Dummy, enrgy_scale: 2}\n",
            (
                "unknown field enrgy_scale\n  at:      bad.yaml:3:48 (arch.nodes[0].enrgy_scale)\n"
                "  instead: did you mean energy_scale?"
            ),
        ),
    ],
)
def test_the_whole_message(text: str, message: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        flatten(load_arch(load_document("bad.yaml", text=text)))
    assert str(caught.value) == message
    assert caught.value.exit_code == 2
