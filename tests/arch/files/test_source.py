"""Files are read, or refused with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.files.source import load_document


def test_files_are_read_or_refused(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("a: é\r\nb: 1\r\n", encoding="utf-8")
    assert load_document(tmp_path / "good.yaml").data == {"a": "é", "b": 1}
    (tmp_path / "bad.yaml").write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(SpecError, match="not UTF-8") as caught:
        load_document(tmp_path / "bad.yaml")
    assert caught.value.where is not None
    assert caught.value.where.line == 2
    with pytest.raises(SpecError, match="no such file") as caught:
        load_document(tmp_path / "goood.yaml")
    assert str(caught.value.instead).startswith("did you mean good.yaml")
    with pytest.raises(SpecError, match="no such file") as caught:
        load_document(tmp_path / "edge_npu")  # a name that the command line knows
    assert "tilewright.studies.path_of" in str(caught.value.instead)
    with pytest.raises(SpecError, match="a folder, not a file"):
        load_document(tmp_path)
    (tmp_path / "large.yaml").write_bytes(b"# " + b"x" * (9 * 2**20))
    with pytest.raises(SpecError, match="larger than 8 MiB"):
        load_document(tmp_path / "large.yaml")
