"""Plain scalars of YAML 1.2's core schema: `on` is text, `010` is ten, `1e3` is a number."""

from __future__ import annotations

import math
import re
import sys

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_PREFIXED = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = {
    ".inf": float("inf"),
    ".Inf": float("inf"),
    ".INF": float("inf"),
    "+.inf": float("inf"),
    "-.inf": float("-inf"),
    "-.Inf": float("-inf"),
    ".nan": float("nan"),
    ".NaN": float("nan"),
    ".NAN": float("nan"),
}
_MAX_DIGITS = 300
_NUMBER_STARTS = frozenset("+-.0123456789")

Scalar = str | int | float | bool | None


def plain_scalar(text: str) -> Scalar:
    """Return the value of an unquoted YAML scalar: number, boolean, None or text.

    It follows YAML 1.2.2 §10.3. Raises ValueError for a number of more than 300 characters, or one
    that no float holds.
    """
    if text[:1] in _NUMBER_STARTS and text:
        return _number_or_text(text)
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    return None if text in _NULL else text


def _number_or_text(text: str) -> Scalar:
    if text in _SPECIAL:
        return _SPECIAL[text]
    if not _FLOAT.match(text):
        if not _PREFIXED.match(text):
            return text
        _check_length(text)
        return int(text, 0)
    _check_length(text)
    if _INTEGER.match(text):
        return int(text)
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"a number above {sys.float_info.max:.2g}")
    return number


def _check_length(text: str) -> None:
    if len(text) > _MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} characters")


def needs_quotes(text: str) -> bool:
    """Return whether a text, written without quotes in YAML, would be read as something else."""
    try:
        return plain_scalar(text) != text
    except ValueError:
        return True
