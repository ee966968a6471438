"""What shipped files say about themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.dse.command.files.about import about, in_short, shipped_files


@pytest.mark.parametrize("kind", ["hardware", "workloads"])
def test_every_shipped_file_says_what_it_is(kind):
    files = shipped_files(kind)
    assert list(files) == sorted(files)
    assert len(files) >= 8
    for name, path in files.items():
        assert 5 < len(in_short(about(path))) < 100, name


def test_the_first_paragraph_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("# A grid of 2.5 mm (made\n# up): more.\n#\n# Sources.\narch:\n")
    assert about(path) == "A grid of 2.5 mm (made up): more."
    assert in_short(about(path)) == "A grid of 2.5 mm"
    path.write_text("arch: 1  # no\n")
    assert about(path) == ""
