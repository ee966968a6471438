"""What docs/search.md says about conflicts is what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import NoFeasibleMapping

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "search.md").read_text(encoding="utf-8")


def test_the_message_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    (tmp_path / "toy.yaml").write_text(toy, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (quoted,) = re.findall(r"```\n(no mapping of .*?)```", PAGE, re.DOTALL)
    small = load_arch(Path("toy.yaml")).with_values(
        {"Buffer.size": 4, "Buffer.tensors.keep": "weight"}
    )
    with pytest.raises(NoFeasibleMapping) as caught:
        search(small, Path("toy.yaml"))
    assert str(caught.value) == quoted.rstrip("\n")
