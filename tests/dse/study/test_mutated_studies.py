"""A damaged study file is valid or ends in an error of ours; nothing else comes out of it."""

from __future__ import annotations

import random

import pytest
from explore import at_night

from tilewright.arch.errors import TilewrightError
from tilewright.dse.study.study_loading import load_study

PIECES = ["[", "]", "{", "}", "-", "null", "true", "-1", "0", "1e400", "2**9999", "!x", "&a"]
PIECES += ["*a", "nan", ".inf", "'", '"', "{}", "[]", "energy", "#", "é"]
PIECES += [": ", "- ", "\n", "  ", "\t", "1, 2, 3", "{{ 7 }}"]


def damaged(text, rng):
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text))
        piece = rng.choice(PIECES)
        text = rng.choice(
            [
                text[:at] + piece + text[at:],
                text[:at] + text[at + rng.randint(1, 12) :],
                text[:at] + piece + text[at + len(piece) :],
                text[:at] + text[at : at + 40] + text[at:],
            ]
        )
    return text


def error_of(path):
    try:
        load_study(path)
    except TilewrightError as error:
        return error
    return None


@pytest.mark.parametrize("block", [*range(3), *at_night(*range(3, 10))])
def test_damage_ends_in_an_error_with_its_place(toy, tmp_path, block):
    rng = random.Random(block)
    refused = 0
    for _ in range(60):
        text = damaged(toy.STUDY, rng)
        path = toy.write_study(tmp_path, text)
        error = error_of(path)
        if error is not None:
            refused += 1
            assert error.where is not None, text
            assert error.where.line is not None, f"{error}\n{text}"
    assert refused > 20
