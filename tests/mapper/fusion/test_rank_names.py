"""Einsums that call the ranks of what they exchange by other names share loops all the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from explore import at_night
from fused_cases import CHAINS, DAGS, random_case, two_memories, workload_of

from tilewright.mapper import evaluate, search
from tilewright.mapper.fusion.boundary.exchanged_tensors import exchanged_tensors_of
from tilewright.mapper.mapping.mapping import Mapping, Sequential, Temporal
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.workload.errors import InfeasibleMapping

SIZES = {"m": 4, "n": 4, "k": 4, "p": 4}
SAME = ("Y[m, n] = A[m, k] * B[k, n]", "Z[m, p] = Y[m, n] * C[n, p]")
OTHER = (SAME[0], "Z[M: d, p] = Y[M: d, N: e] * C[N: e, p]")


def loops_of(mapping: Mapping) -> list[Temporal]:
    return [n for n in mapping.nodes if isinstance(n, Temporal)]


def test_a_loop_of_two_names() -> None:
    arch = two_memories(14)
    same = search(arch, workload_of(SAME, SIZES))
    work = workload_of(OTHER, SIZES)
    result = search(arch, work)
    assert result.certificate.kind == "optimal"
    assert result.certificate.value == same.certificate.value
    assert result.on_chip == ("Y",)
    (loop,) = loops_of(result.best.mapping)
    assert (loop.rank_variable, loop.names) == ("m", (("Z", "d"),))
    again = load_mapping(dump_mapping(result.best.mapping))
    assert again == result.best.mapping
    assert evaluate(arch, work, again) == result.best.score
    assert "for m = d of Z" in str(again)


def test_without_the_other_name_the_loop_is_none_of_the_second_einsum() -> None:
    work = workload_of(OTHER, SIZES)
    mapping = search(two_memories(14), work).best.mapping
    nodes = tuple(replace(n, names=()) if isinstance(n, Temporal) else n for n in mapping.nodes)
    with pytest.raises(Exception, match="Einsum Z has no rank variable 'm'"):
        evaluate(two_memories(14), work, Mapping(nodes))


def test_two_variables_of_one_einsum_stay_two() -> None:
    """As in attention: K's rows are p of QK, Q's rows are m of it."""
    texts = (
        "K[m, e] = A[m, d] * B[d, e]",
        "Q[m, e] = A[m, d] * C[d, e]",
        "S[m, p] = Q[m, e] * K[M: p, e]",
    )
    work = workload_of(texts, {"m": 4, "d": 2, "e": 2, "p": 4})
    names = exchanged_tensors_of(work).loop_names
    assert names[0]["m"] == names[2]["p"] != names[1]["m"] == names[2]["m"]
    result = search(two_memories(24), work)
    assert evaluate(two_memories(24), work, result.best.mapping) == result.best.score


def renamed(text: str, number: int) -> str:
    """Give every rank variable of an Einsum a name of its own."""

    def ranks(match: re.Match[str]) -> str:
        return "[" + ", ".join(f"{v.upper()}: {v}{number}" for v in match[1].split(", ")) + "]"

    return re.sub(r"\[([a-z, ]+)\]", ranks, text) if number else text


@pytest.mark.parametrize(
    "texts", [*CHAINS[3::3], DAGS[0], *at_night(CHAINS[0], *CHAINS[1::3], *CHAINS[2::3], *DAGS[1:])]
)
def test_names_change_nothing(texts: tuple[str, ...]) -> None:
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: (4, 2, 6)[i % 3] for i, name in enumerate(names)}
    arch = random_case(len(texts[0]))[0]
    works = [
        workload_of(each, sizes)
        for each in (texts, tuple(renamed(text, i) for i, text in enumerate(texts)))
    ]
    for conventions in ("default", "accelforge"):
        try:
            values = [search(arch, work, conventions=conventions) for work in works]
        except InfeasibleMapping:
            continue
        one, other = (found.certificate.value for found in values)
        assert one == pytest.approx(other, rel=1e-12)
        assert any(isinstance(n, Sequential) for n in values[1].best.mapping.nodes)
