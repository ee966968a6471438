"""Templates: functions, confinement, bounds, and lines that lead back to the source."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.files.source import load_document


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_variables_loops_and_defaults(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.yaml": "{% set N = N | default(2) %}\nsizes:\n"
            "{% for i in range(N) %}- {{ i * WIDTH }}\n{% endfor %}"
        },
    )
    document = load_document(tmp_path / "a.yaml", variables={"WIDTH": 8, "N": 3})
    assert document.data == {"sizes": [0, 8, 16]}


def test_lines_lead_back_through_loops_and_includes(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.yaml": "{% set x = 1 %}\n\n{{ include_text('sub/b.yaml') }}\n"
            "{% for i in [1, 2] %}\nk{{ i }}:\n  v: {{ i }}\n{% endfor %}\nlast: 1\n",
            "sub/b.yaml": "# a comment\nfirst: 1\nsecond:\n  deep: 2\n",
        },
    )
    document = load_document(tmp_path / "a.yaml")
    places = {
        path: (Path(document.where(path).file).name, document.where(path).line)
        for path in [("first",), ("second", "deep"), ("k1", "v"), ("k2", "v"), ("last",)]
    }
    assert places == {
        ("first",): ("b.yaml", 2),
        ("second", "deep"): ("b.yaml", 4),
        ("k1", "v"): ("a.yaml", 6),
        ("k2", "v"): ("a.yaml", 6),
        ("last",): ("a.yaml", 8),
    }
    assert document.where(("last",)).column == 7  # an unchanged line keeps its columns
    assert document.where(("k1", "v")).column is None  # a rendered one has none


def test_include_gives_a_part_of_another_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main/a.yaml": "{{ add_to_path('../lib') }}\n{% set N = 4 %}\n"
            "{% set M = include('b.yaml') %}\nwhole: {{ M }}\npart: {{ M }}.x.y\n"
            "items:\n- {{ include('b.yaml', 'x.y') }}\n- {{ include('b.yaml', 'x', N=5) }}\n",
            "lib/b.yaml": "x:\n  y: [{{ N }}, 2]\n",
        },
    )
    document = load_document(tmp_path / "main" / "a.yaml")
    assert document.data == {
        "whole": {"x": {"y": [4, 2]}},
        "part": [4, 2],
        "items": [[4, 2], {"y": [5, 2]}],
    }
    assert Path(document.where(("part", 0)).file).name == "b.yaml"


def test_include_all_and_the_questions_about_paths(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.yaml": "all: {{ include_all('parts/*.yaml', 'v') }}\n"
            "yes: {{ path_exists('parts/1.yaml') }}\nno: {{ path_exists('nothing.yaml') }}\n"
            "here: '{{ cwd() }}'\nfound: '{{ find_path('parts/1.yaml') }}'\n"
            "n: {{ find_paths('parts/*.yaml') | length }}\n",
            "parts/1.yaml": "v: 1",
            "parts/2.yaml": "v: 2",
        },
    )
    assert load_document(tmp_path / "a.yaml").data == {
        "all": [1, 2],
        "yes": True,
        "no": False,
        "here": str(tmp_path),
        "found": str(tmp_path / "parts" / "1.yaml"),
        "n": 2,
    }


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("a: 1\nb: {{ N }}\n", "the template variable N has no value", 2),
        ("a: 1\n{% assert 1 > 2, 'N is too small' %}\n", "N is too small", 2),
        ("a: 1\n{% if %}\n", "the template fails: Expected an expression", 2),
        ("a: 1\n\nb: {{ 1 / 0 }}\n", "division by zero", 3),
        ("{{ include_text('/etc/passwd') }}", "leads out of the folder", 1),
        ("{{ include_text('../../../../../../etc/passwd') }}", "leads out of the folder", 1),
        ("{{ include('nothing.yaml') }}", "no such file to include", 1),
        ("a: 1\nb: {{ include('self.yaml') }}\n", "include each other", 2),
        ("a: 1\nb: {{ include('.') }}\n", "this is a folder", 2),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself without end", 1),
        ("a: \ue0f0 {{ 1 }}", "U+E0F0", 1),
        ("a:\n- {{ include('other.yaml') }}\n  - b: 2\n", "text follows include()", 2),
        ("a: 1\n{% include 'b.yaml' %}\n", "no statement include", 2),
        ("{% from 'b.yaml' import N %}\na: 1\n", "no statement include", 1),
    ],
)
def test_what_a_template_may_not_do(tmp_path: Path, text: str, words: str, line: int) -> None:
    write(tmp_path, {"self.yaml": text, "other.yaml": "b: 1\n"})
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        load_document(tmp_path / "self.yaml")
    assert time.process_time() - start < 2
    assert words in caught.value.what
    assert caught.value.where is not None
    assert Path(caught.value.where.file) == tmp_path / "self.yaml"
    assert caught.value.where.line == line


def test_an_error_inside_an_included_file_names_that_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a.yaml": "x: 1\n{{ include_text('b.yaml') }}\n", "b.yaml": "y: 1\nz: ]\nw: 1\n"},
    )
    with pytest.raises(SpecError) as caught:
        load_document(tmp_path / "a.yaml")
    assert caught.value.where is not None
    assert Path(caught.value.where.file).name == "b.yaml"


def test_yaml_errors_point_at_the_written_line(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": "{% for i in range(50) %}\nk{{ i }}: 1\n{% endfor %}\nx: 1\nx: 2\n"})
    with pytest.raises(SpecError, match="written twice") as caught:
        load_document(tmp_path / "a.yaml")
    assert caught.value.where is not None
    assert caught.value.where.line == 5


def test_an_included_key_that_is_missing(tmp_path: Path) -> None:
    write(
        tmp_path, {"a.yaml": "x: {{ include('b.yaml', 'wrkload') }}\n", "b.yaml": "workload: 1\n"}
    )
    with pytest.raises(SpecError, match="has no wrkload") as caught:
        load_document(tmp_path / "a.yaml")
    assert caught.value.instead == "did you mean workload?"


def test_plain_files_do_not_import_jinja() -> None:
    code = (
        "import sys\nfrom tilewright.arch.spec.load import load_arch\n"
        "from tilewright.arch.flattening.flattening import flatten\n"
        "import tilewright.arch.spec.render\n"
        "from tilewright.arch.files.source import load_document\nload_document('x', text='a: 1')\n"
        "print([m for m in ('jinja2', 'networkx', 'numba', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
