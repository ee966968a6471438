"""The condition of a query, checked before any trial is asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import get_args

from tilewright.arch.errors import SpecError
from tilewright.arch.expressions.units import unknown_unit
from tilewright.dse.run.figures import check_names, check_unit
from tilewright.dse.run.record import TrialStatus

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_OTHER_LANGUAGES = {
    re.compile(r"(?<![<>=!])=(?!=)"): ("`=` does not compare", "== between the two sides"),
    re.compile(r"\b(?:true|false)\b"): (
        "`true` and `false` are no names here",
        "`fusion` or `not fusion` for a knob that is true or false",
    ),
    re.compile(r"&&"): ("`&&` is not known here", "and"),
    re.compile(r"\|\|"): ("`||` is not known here", "or"),
}
_WORDS = re.compile(r"\b(?:and|or|not)\b|[()]")
_SIGN = re.compile(r"<=|>=|==|!=|<|>")


def check_condition(text: str, names: Collection[str], values: Collection[str]) -> None:
    """Check a condition over metrics and knobs, such as `latency < 1 ms and kind == 'dram'`.

    `names`: names that it may use, before their first dot; `values`: texts that knobs have. Raises
    SpecError, with what to write instead, for wrong syntax, an unknown name or unit, or a limit of
    a metric in a unit of something else.
    """
    plain = _QUOTED.sub("''", text)
    for pattern, (what, instead) in _OTHER_LANGUAGES.items():
        if pattern.search(plain):
            raise SpecError(what, value=text, instead=instead)
    for name in sorted(set(re.findall(r"[A-Za-z_]\w*", plain)) & set(values) - set(names)):
        column = "status" if name in get_args(TrialStatus) else "the knob"
        is_compared = re.search(rf"[=<>]\s*{name}\b|\b{name}\s*[=!<>]", plain)
        quoted = f"'{name}' in quotes" if is_compared else f"{column} == '{name}'"
        raise SpecError(f"{name} is a text, not a name", value=text, instead=quoted)
    for _, limit in comparisons(plain):
        unit = unknown_unit(limit)
        if unit is not None and unit not in names:
            raise SpecError(
                f"{unit} is no unit", value=text, instead="a unit such as ns, pJ, KiB, GHz or mm^2"
            )
    check_names(text, names)
    for name, limit in comparisons(plain):
        check_unit(name, limit, None)


def comparisons(text: str) -> Iterator[tuple[str, str]]:
    """Yield (left, right) and (right, left) of each comparison in a condition, as texts."""
    for comparison in _WORDS.split(text):
        sides = [side.strip() for side in _SIGN.split(comparison)]
        if len(sides) == 2:
            yield sides[0], sides[1]
            yield sides[1], sides[0]
