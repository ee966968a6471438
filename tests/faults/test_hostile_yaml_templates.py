"""Damaged and malicious templates end as data or as an error with file and line."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest
from mutations import mutate

from tilewright.arch.errors import TilewrightError
from tilewright.arch.files.source import load_document

PIECES = """\
{{ x }}|{% set q = [q, q] %}|{% for i in range(99) %}|{% endfor %}|{% if 1 %}|{% endif %}
{{ include_text('../x') }}|{{ [1] * 999 }}|{% macro a() %}{{ a() }}|{# |{{ DECODE.foo }}
{{ 5 | int | foo }}|{{ namespace(a=1) }}|{{ self }}|{{ caller() }}|{% block x %}
{% include 'a' %}|{% import 'a' as b %}|{{ loop }}|{{ dict }}|{{ range }}|{{ '%s' % 3 }}|{{ 1 if }}
{% raw %}|{{ 'a' ~ 1 }}|{{ {}.x.y }}|{% set x.y = 3 %}|{% for a, b in [1] %}{% endfor %}
{% call foo() %}{% endcall %}|{{ joiner }}|{% filter upper %}x{% endfilter %}|{{ ().__class__ }}
{{ include }}|{{ cwd }}|{{ 9 ** 9 ** 9 }}|{{ range(10**12) }}|{{ include(1) }}|{{ cwd(1, 2) }}\
""".replace("\n", "|").split("|")

TEMPLATE = """\
{% set N = N | default(3) %}
{{ add_to_path(".") }}
workload:
  rank_sizes:
  {% for i in range(N) %}
    N{{ i }}: {{ i * 8 + 8 }}
  {% endfor %}
  einsums:
  {% if DECODE %}
  - "A[m] = B[m]"
  {% else %}
  - {{ include("part.yaml", "einsums") }}
  {% endif %}
"""
PART = 'einsums:\n- "Z[m, n] = A[m, k] * B[k, n]" # {{ N }}\n'


def _run(folder: Path, seeds: range) -> Counter[str]:
    (folder / "part.yaml").write_text(PART)
    ends: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        text = mutate(TEMPLATE, seed) if rng.random() < 0.6 else TEMPLATE
        for _ in range(rng.randint(0, 2)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(PIECES) + text[at:]
        start = time.process_time()
        ends[_end(folder, text, seed)] += 1
        assert time.process_time() - start < 2, f"seed {seed}"
    return ends


def _end(folder: Path, text: str, seed: int) -> str:
    try:
        load_document(folder / "file.yaml", text=text, variables={"DECODE": seed % 2 == 0})
    except TilewrightError as error:
        return "error" if error.where is not None and error.where.line else f"no line: {error}"
    except Exception as error:  # name the seed, so that it can be looked at
        pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{text}")
    return "valid"


def test_three_hundred_templates(tmp_path: Path) -> None:
    ends = _run(tmp_path, range(300))
    assert set(ends) == {"valid", "error"}, ends
    assert min(ends.values()) > 30


@pytest.mark.nightly
def test_a_thousand_templates(tmp_path: Path, shift: int) -> None:
    assert set(_run(tmp_path, range(shift + 1000, shift + 2000))) == {"valid", "error"}
