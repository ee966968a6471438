"""Several files as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.files.several import load_documents
from tilewright.arch.spec.load import load_arch


def write(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.yaml")
        paths[-1].write_text(text)
    return paths


def test_blocks_are_joined_and_keep_their_places(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        a="variables: {n: 8}\narch:\n  nodes:\n  - !Memory {name: M, size: n}\n",
        b="variables: {m: 2}\n\narch:\n  nodes:\n  - !Compute {name: C}\n",
    )
    document = load_documents(paths)
    arch = load_arch(document)
    assert [node.name for node in arch.leaves()] == ["M", "C"]
    assert arch.variables == {"n": 8, "m": 2}
    place = arch.where(arch.node("C"), "name")
    assert (Path(place.file).name, place.line) == ("b.yaml", 5)
    assert Path(arch.where(arch.node("M"), "name").file).name == "a.yaml"


def test_equal_values_may_be_said_twice_and_others_not(tmp_path: Path) -> None:
    paths = write(tmp_path, a="x: {y: 1, z: 2}\n", b="x:\n  y: 1\n  z: 3\n")
    with pytest.raises(SpecError) as caught:
        load_documents(paths)
    assert "two files disagree about z" in caught.value.what
    assert "a.yaml:1" in caught.value.what
    assert caught.value.where is not None
    assert (Path(caught.value.where.file).name, caught.value.where.line) == ("b.yaml", 3)
    with pytest.raises(SpecError, match="no file is given"):
        load_documents([])
