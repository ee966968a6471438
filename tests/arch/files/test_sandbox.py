"""The sandbox of templates: what it refuses, and the exact size of its limits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.files.sandbox import (
    MAX_EXPONENT,
    MAX_STEPS,
    MAX_TEXT,
    MAX_VALUE,
    LimitError,
    TemplateAssertError,
    TemplateBudget,
    make_environment,
)
from tilewright.arch.files.source import load_document


def render(text: str, **variables: object) -> str:
    """Render a template whose plain text stays as it is."""
    environment = make_environment(TemplateBudget(), lambda _line, data: data)
    return environment.from_string(text).render(**variables)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("{{ 'a' * 10**9 }}", "too large a text", 1),
        ("{{ 10 ** 10 ** 10 }}", "powers take numbers", 1),
        ("{% set x = 'ab' %}" + "{% set x = x ~ x %}" * 60, "more than 65536", 1),
        ("{% set x = 'ab' %}" + "{% set x = [x, x] | join %}" * 60, "more than 65536", 1),
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            "more than 200000 steps",
            1,
        ),
        ("{% set x = [1] %}" + "{% set x = [x, x] %}" * 60 + "{{ x }}", "more than 65536", 1),
        ("{% set x = {'a': 1} %}" + "{% set x = dict(a=x, b=x) %}" * 60, "more than 65536", 1),
        ("{{ ''.__class__ }}", "unsafe", 1),
        ("{{ cwd.__globals__ }}", "unsafe", 1),
        ("{{ 'x'.format(1) }}", "unsafe", 1),
        ("{{ '%999999999d' % 1 }}", "% takes numbers", 1),
        ("{{ 1 | pprint }}", "No filter named", 1),
    ],
)
def test_templates_cannot_reach_out_or_grow(
    tmp_path: Path, text: str, words: str, line: int
) -> None:
    (tmp_path / "self.yaml").write_text(text)
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        load_document(tmp_path / "self.yaml")
    assert time.process_time() - start < 2
    assert words in caught.value.what
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == (
        str(tmp_path / "self.yaml"),
        line,
    )


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{{ ceil(2.1) + floor(2.9) }}", "5"),
        ("{{ [3, 1, 2] | sort | join('-') }}", "1-2-3"),
        ("{{ 'a,b'.split(',') | length }}", "2"),
        ("{{ {'a': 1}.items() | list }}", "[('a', 1)]"),
        ("{{ 2 ** 3 ~ '%' }}", "8%"),
        ("{% set text %}a{{ 1 }}{% endset %}{{ text }}", "a1"),
        ("{% assert 1 < 2, 'never shown' %}ok", "ok"),
    ],
)
def test_what_a_template_may_do(text: str, rendered: str) -> None:
    assert render(text) == rendered


def test_limits_are_exact() -> None:
    assert len(render("{{ 'a' * n }}", n=MAX_VALUE)) == MAX_VALUE
    with pytest.raises(LimitError, match="too large a text"):
        render("{{ 'a' * n }}", n=MAX_VALUE + 1)
    assert render("{{ 1 ** n }}", n=MAX_EXPONENT) == "1"
    with pytest.raises(LimitError, match="exponents up to 64"):
        render("{{ 1 ** n }}", n=MAX_EXPONENT + 1)


def test_the_budget_is_shared_by_all_templates() -> None:
    budget = TemplateBudget()
    for _ in range(MAX_STEPS):
        budget.step()
    with pytest.raises(LimitError, match=f"more than {MAX_STEPS} steps"):
        budget.step()
    assert list(TemplateBudget().bounded("abc")) == ["a", "b", "c"]
    TemplateBudget().check_size(MAX_TEXT, "the rendered text")
    with pytest.raises(LimitError, match="the rendered text is larger than 8 MiB"):
        TemplateBudget().check_size(MAX_TEXT + 1, "the rendered text")


def test_a_list_is_charged_for_all_its_parts() -> None:
    budget = TemplateBudget()
    inner = [1] * 15
    assert budget.measured([inner, inner]) == [inner, inner]
    assert budget.steps == 33 // 16 + 1  # 1 + 2 * (1 + 15) parts, a step for 16 of them, and one


def test_an_assertion_without_a_message() -> None:
    with pytest.raises(TemplateAssertError, match="an assertion does not hold"):
        render("{% assert false %}")


def test_plain_text_passes_through_the_marker() -> None:
    lines = []

    def mark(line: int, data: str) -> str:
        lines.append((line, data))
        return data.upper()

    environment = make_environment(TemplateBudget(), mark)
    assert environment.from_string("a\nb{{ 1 }}c").render() == "A\nB1C"
    assert lines == [(1, "a\nb"), (2, "c")]
