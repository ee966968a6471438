"""Quantities with units in files: `0.2 pJ`, `256 KiB`, `1 GHz`, `64 Gbit/s`, `10 mm^2`.

A number with a unit behind it stands for its value in SI units (bits for sizes). Decimal prefixes
move the exponent of what is written, so that `0.2 pJ` is the float nearest to 2e-13.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Dimension = Literal["energy", "time", "power", "frequency", "bits", "bits per second", "area"]

_PREFIXES: Final = {
    "a": -18, "f": -15, "p": -12, "n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3,
    "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15,
}  # fmt: skip
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
_BASES: Final[dict[str, tuple[Dimension, int]]] = {  # dimension, SI units (bits) in one
    "J": ("energy", 1),
    "s": ("time", 1),
    "W": ("power", 1),
    "Hz": ("frequency", 1),
    "bit": ("bits", 1),
    "B": ("bits", 8),
    "bit/s": ("bits per second", 1),
    "B/s": ("bits per second", 8),
}
_AREAS: Final = ("m^2", "m²", "m2")
_AREA_PREFIXES: Final = "muµμn"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a file: `name` is worth `factor` · 10^`exponent` in SI units, or bits."""

    name: str
    dimension: Dimension
    exponent: int
    factor: int = 1


def _units() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for base, (dimension, factor) in _BASES.items():
        for prefix, exponent in _PREFIXES.items():
            units[prefix + base] = Unit(prefix + base, dimension, exponent, factor)
        if dimension.startswith("bits"):
            for prefix, power in _BINARY.items():
                units[prefix + base] = Unit(prefix + base, dimension, 0, factor * 2**power)
    for area in _AREAS:
        for prefix in ("", *_AREA_PREFIXES):
            units[prefix + area] = Unit(prefix + area, "area", 2 * _PREFIXES[prefix])
    return units


UNITS: Final = _units()
_NUMBER = r"(?<![\w.])(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?"
_NAMES = (  # of UNITS; an alternation of all of them takes long to compile
    rf"[{''.join(_PREFIXES)}]?(?:{'|'.join(_BASES)})"
    rf"|(?:{'|'.join(_BINARY)})(?:{'|'.join(base for base in _BASES if base[0] in 'bB')})"
    rf"|[{_AREA_PREFIXES}]?(?:{'|'.join(map(re.escape, _AREAS))})"
)
_QUANTITY = re.compile(rf"'[^']*'|\"[^\"]*\"|{_NUMBER}[ \t]*({_NAMES})(?![\w^²/]|\s*\()")
_UNKNOWN = re.compile(r"\s*[\d.]+(?:[eE][+-]?\d+)?[ \t]*([A-Za-zµμ][\w/^²]*)\s*")


def without_units(text: str) -> str:
    """Return the text of an expression with each quantity written as a plain number.

    `1 / 1.05 GHz` is `1 / 1.05e9`, `256 KiB` is `(256*8192)`. Quoted text stays.
    """
    if not any(character.isdigit() for character in text):
        return text
    return _QUANTITY.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    if match[3] is None:
        return match[0]  # quoted text
    unit = UNITS[match[3]]
    exponent = int(match[2] or 0) + unit.exponent
    number = f"{match[1]}e{exponent}" if exponent else match[1]
    return number if unit.factor == 1 else f"({number}*{unit.factor})"


def unit_of(value: object) -> Unit | None:
    """Return the unit of a value that is one number with a unit; None for any other value."""
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if match is None or match[3] is None else UNITS[match[3]]


def is_bit_rate(value: object) -> bool:
    """Tell whether a value is written in bits or bytes per second, such as `8 * 614 GB/s`."""
    return any(unit.dimension == "bits per second" for unit in units_in(value))


def units_in(value: object) -> list[Unit]:
    """Return the units of all quantities in an expression; none for what is no text."""
    if not isinstance(value, str):
        return []
    return [UNITS[match[3]] for match in _QUANTITY.finditer(value) if match[3] is not None]


def unknown_unit(text: str) -> str | None:
    """Return the word behind the number of a text such as "8 kBit" if it is no unit, else None."""
    match = _UNKNOWN.fullmatch(text)
    return match[1] if match is not None and match[1] not in UNITS else None
