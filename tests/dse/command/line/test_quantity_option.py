"""Seconds and bytes of a command line, also with a unit."""

from __future__ import annotations

import click
import pytest

from tilewright.dse.command.line.quantity_option import BYTES, SECONDS, QuantityType


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        (BYTES, "4e9", 4e9),
        (BYTES, "1 GB", 1e9),
        (BYTES, "512MiB", 512 * 2**20),
        (BYTES, "8 Gbit", 1e9),
        (SECONDS, "60", 60.0),
        (SECONDS, "500 ms", 0.5),
        (SECONDS, "0", 0.0),
    ],
)
def test_a_number_with_or_without_a_unit(kind, text, number):
    assert QuantityType(kind, may_be_zero=kind is SECONDS).convert(text, None, None) == number


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (BYTES, "1 s", "is no number of bytes. Write 4e9, 4 GB or 512 MiB."),
        (BYTES, "1 GBB", "is no number of bytes"),
        (BYTES, "0", "is not above 0"),
        (BYTES, "0 GB", "is not above 0"),
        (SECONDS, "2 GB", "is no number of seconds. Write 60, or 500 ms."),
        (SECONDS, "-1", "is no number of seconds"),
        (SECONDS, "nan", "is no number of seconds"),
        (SECONDS, "inf", "is no number of seconds"),
        (SECONDS, "", "is no number of seconds"),
    ],
)
def test_what_is_none(kind, text, words):
    with pytest.raises(click.BadParameter, match=words):
        QuantityType(kind, may_be_zero=kind is SECONDS).convert(text, None, None)
