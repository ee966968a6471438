"""Pieces of a tensor type, and the place of what is wrong."""

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.text.type_scanner import TypeScanner, by_x, stored_text
from tilewright.mapper.layout.tiling import Tiling


def test_pieces_are_read_one_after_the_other() -> None:
    scanner = TypeScanner(" 2 x3x f32 , !tt.tile<16x32, bfp_bf8> zero l1", "an example")
    assert scanner.extents() == (2, 3)
    assert scanner.any_word() == "f32"
    scanner.sign(",")
    assert scanner.stored() == Tiling((16, 32), number_format("bfp8"))
    assert scanner.padding() == "zero"
    assert scanner.memory() == "l1"
    scanner.end()
    assert scanner.next_sign() == ""


def test_an_error_names_the_place_and_the_example() -> None:
    scanner = TypeScanner("ab cd", "an example")
    scanner.word("ab")
    with pytest.raises(SpecError, match="'xy' is missing, at character 4") as caught:
        scanner.word("xy")
    assert caught.value.instead == "an example"
    with pytest.raises(SpecError, match="text after the end"):
        scanner.end()


def test_printing_is_the_inverse() -> None:
    for tiling in (Tiling(), Tiling((32, 32), number_format("bf16"))):
        assert TypeScanner(stored_text(tiling), "").stored() == tiling
    assert by_x((3, 2)) == "3x2"
