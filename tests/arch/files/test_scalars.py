"""Plain scalars as YAML 1.2 reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.files.document import Document
from tilewright.arch.files.scalars import plain_scalar
from tilewright.arch.files.source import load_document


def read(text: str) -> Document:
    return load_document("file.yaml", text=text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("12:30:00", "12:30:00"),
        ("1e3", 1000.0),
        ("1e-12", 1e-12),
        (".5", 0.5),
        ("5.", 5.0),
        ("+3", 3),
        ("-3", -3),
        (".inf", float("inf")),
        ("inf", "inf"),
        ("2001-01-01", "2001-01-01"),
        ("~Intermediates", "~Intermediates"),
        ("1 / (8 * 614e9)", "1 / (8 * 614e9)"),
        ("'8'", "8"),
        ('"on"', "on"),
        ("!!str 8", "8"),
        ("!!int 8", 8),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    assert read(f"key: {text}\n").data == {"key": value}
    assert type(read(f"key: {text}\n").data["key"]) is type(value)  # type: ignore[index]


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_written_by_python_reads_back(number: float) -> None:
    assert plain_scalar(repr(number)) == number
