"""Options that commands share: settings, JSON, messages."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.command.console import check_writable, emit, os_error_text, parse_settings, say


def test_settings_are_read_as_yaml_reads_them():
    given = ["A=4", "B=0.5", "C=true", "D=text", "E=a=b", "F=", "G=1e3", "H=on"]
    assert parse_settings(given) == {
        "A": 4, "B": 0.5, "C": True, "D": "text", "E": "a=b", "F": "", "G": 1000.0, "H": "on",
    }  # fmt: skip


@pytest.mark.parametrize("item", ["A", "=4", " =4", "A=" + "9" * 400])
def test_what_is_no_setting_is_refused(item):
    with pytest.raises(SpecError, match="--set") as caught:
        parse_settings([item])
    assert caught.value.value == item
    assert str(caught.value.where) == "command line"


def test_documents_go_to_standard_output_and_words_to_standard_error(capsys):
    emit({"half": Fraction(1, 2), "two": Fraction(2), "row": np.array([1, 2]), "word": "é"})
    say("a word")
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"half": 0.5, "two": 2, "row": [1, 2], "word": "é"}
    assert "é" in shown.out
    assert shown.err == "a word\n"
    with pytest.raises(TypeError, match="object has no JSON form"):
        emit({"x": object()})


def test_a_place_is_tried_without_leaving_anything(tmp_path):
    check_writable(tmp_path / "new.txt")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.txt").write_text("precious")
    check_writable(tmp_path / "old.txt")
    assert (tmp_path / "old.txt").read_text() == "precious"
    with pytest.raises(OSError, match="Is a directory") as caught:
        check_writable(tmp_path)
    assert os_error_text(caught.value) == f"Is a directory: {tmp_path}"
    assert os_error_text(OSError("odd")) == "odd"
    assert os_error_text(OSError()) == "OSError"
