"""Numbers for people, with SI prefixes and units of the metrics, and for JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

UNITS: Mapping[str, str] = {
    "energy": "J",
    "latency": "s",
    "edp": "J·s",
    "area": "m²",
    "leak_power": "W",
    "cycles": "cycles",
    "sram_bits": "bit",
    "hops": "hops",
    "elements": "elements",
    "utilization": "",
    "operations_per_second": "op/s",
    "operations_per_byte": "op/B",
    "core_bits": "bit",
    "sbuf_bits": "bit",
    "psum_banks": "banks",
    "dram_traffic": "bit",
    "cores": "cores",
    "reshard_cycles": "cycles",
}
LABELS: Mapping[str, str] = {
    "edp": "energy-delay product",
    "leak_power": "leakage power",
    "sram_bits": "SRAM per element",
    "hops": "wavelet hops",
    "core_bits": "memory per core",
    "sbuf_bits": "SBUF in use",
    "psum_banks": "PSUM",
    "dram_traffic": "DRAM traffic",
    "reshard_cycles": "cycles of reshards",
}
_PREFIXES = {
    -18: "a", -15: "f", -12: "p", -9: "n", -6: "µ", -3: "m",
    0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P",
}  # fmt: skip
_MOST_DIGITS = 9
_UNIT_OF_ZERO: Mapping[str, str] = {"bit": "B", "m²": "mm²"}  # as of other values
_EXPRESSION = re.compile(r"[\s*/+()]")
_COUNTED = ("cycles", "hops", "elements", "cores", "banks", "op/B", "")


def finite_or_none(value: float | None) -> float | None:
    """Return a number as it is, but None for infinity and NaN, which JSON does not have."""
    return value if value is not None and math.isfinite(value) else None


def some(number: int, noun: str) -> str:
    """Return a number of things as text; `noun` is in the singular: `1 mapping`, `2 mappings`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def label(metric: str) -> str:
    """Return the name of a metric as prose: `energy-delay product` for `edp`.

    Names that a user gave stay as they are: `edge_conv energy` for `edge_conv.energy`; so does an
    expression.
    """
    workload, _, name = metric.rpartition(".")
    if _EXPRESSION.search(metric) or (workload and name not in UNITS):
        return metric
    return f"{workload} {LABELS.get(name, name.replace('_', ' '))}".strip()


def quantity(value: float, metric: str, digits: int = 3, padded: bool = False) -> str:
    """Return a metric's value with its unit and SI prefix, in `digits` or one more: `3.42 µJ`.

    The value is in the metric's SI unit; `usage.MEMORY` is in bits, shown as bytes. `padded`: keep
    zeros at the end.
    """
    return with_unit(value, unit_of_metric(metric), digits, padded)


def unit_of_metric(metric: str) -> str:
    """Return the unit of a metric, also of one workload's: J for `bert.energy`; empty if none.

    An expression over metrics has none: `bert.energy / base.bert.energy` is no energy.
    """
    if _EXPRESSION.search(metric):
        return ""
    if metric.startswith("usage.") or ".usage." in metric:
        return "bit"
    return UNITS.get(metric.rpartition(".")[2], "")


def named_quantity(value: float, metric: str) -> str:
    """Return a metric's value with its name, which is not said twice: `energy 4 nJ`, `8 cycles`."""
    text = quantity(value, metric)
    return text if text.endswith(f" {label(metric)}") else f"{label(metric)} {text}"


def told_apart(values: Sequence[float], metric: str) -> list[str]:
    """Return values of a metric as texts with so many digits that values that differ look so.

    At most nine digits, as far as these tell them apart; the values are in the metric's SI unit.
    """
    texts = [quantity(value, metric) for value in values]
    digits, different = 4, len({f"{value:.{_MOST_DIGITS}g}" for value in values})
    while len(set(texts)) < different and digits <= _MOST_DIGITS:
        texts = [quantity(value, metric, digits, padded=True) for value in values]
        digits += 1
    return texts


def with_unit(value: float, unit: str, digits: int = 3, padded: bool = False) -> str:
    """Return a value with its unit, and an SI prefix where the unit takes one.

    m² become mm², bits become B, KiB, MiB or GiB; cycles and other counts have no prefix. `digits`:
    significant ones, more of what is above 1000 if there are; `padded`: with zeros at the end.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {_UNIT_OF_ZERO.get(unit, unit)}".strip()
    if unit == "m²":  # 1 mm² is 1e-6 m²: a prefix on a squared unit is squared
        return f"{_digits(value * 1e6, digits, padded)} mm²"
    if unit == "bit":
        return _bytes(value, digits, padded)
    if unit in _COUNTED:
        text = f"{value:,.0f}" if value >= 1000 else _digits(value, digits, padded)
        return f"{text} {unit.removesuffix('s') if text == '1' else unit}".strip()
    if abs(value) < 1e-18:
        return f"{value:.3g} {unit}"
    exponent = min(15, max(-18, 3 * math.floor(math.log10(abs(value)) / 3 + 1e-12)))
    return f"{_digits(value / 10.0**exponent, digits, padded)} {_PREFIXES[exponent]}{unit}"


def bits_text(bits: float) -> str:
    """Return a number of bits, from 1 KiB on also in bytes: `12 bits`, `524,288 bits (64 KiB)`."""
    text = f"{bits:,.9g} bits" if math.isfinite(bits) else f"{bits:g} bits"
    return text if bits < 8192 or not math.isfinite(bits) else f"{text} ({_bytes(bits, 4, False)})"


def shortened(count: float) -> str:
    """Return a number of things in four digits: `9,120`, `16.38 k`, `8.389 M`."""
    if abs(count) < 10_000:
        return f"{count:,.4g}"
    exponent = min(15, 3 * math.floor(math.log10(abs(count)) / 3 + 1e-12))
    return f"{count / 10.0**exponent:.4g} {_PREFIXES[exponent]}"


def _bytes(bits: float, digits: int, padded: bool) -> str:
    size = bits / 8
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{_digits(size, digits, padded)} {unit}"
        size /= 1024
    return f"{_digits(size, digits, padded)} GiB"


def _digits(value: float, digits: int, padded: bool) -> str:
    if value == round(value) and abs(value) < 1e6 and not padded:
        return f"{value:,.0f}"
    if abs(value) >= 1000:
        return f"{value:,.{max(0, digits - 4)}f}"
    return f"{value:#.{digits}g}".removesuffix(".") if padded else f"{value:.{digits}g}"
