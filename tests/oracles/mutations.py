"""Random damage to files: lines, tokens and structure, reproducible from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tilewright.arch.files.document import Tagged, untag
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.printing import dump_yaml

HOSTILE = (
    "",
    "-1",
    "0",
    "1e400",
    "-inf",
    "nan",
    ".nan",
    "true",
    "null",
    "[]",
    "{}",
    "[1, [2, [3]]]",
    "{a: {b: c}}",
    "9" * 500,
    "2**2**2**2**2**2",
    "10**(10**9)",
    "__import__('os').system('true')",
    "().__class__.__bases__",
    "(lambda: 1)()",
    "f'{size}'",
    "[x for x in range(10**12)]",
    "sum(sum(1 for a in range(9999)) for b in range(9999))",
    "'a' * 10**9",
    "max()",
    "min(All)",
    "All + 1",
    "~~~All",
    "Above.bits_per_value",
    "size",
    "area",
    "actions",
    "actions['nothing'].n_calls",
    "a.n_calls",
    "*nowhere",
    "&here [*here]",
    "!Memory {}",
    "!!python/object/apply:os.system ['true']",
    "(" * 300 + "1" + ")" * 300,
    "-" * 3000 + "1",
    "1 if 1 if 1 else 1 else 1",
    "\x00",
    "\ufeff",
    "\ue0f0",
    "{{ 1 }}",
    "{% for i in range(10**9) %}x{% endfor %}",
    "{{ nothing }}",
    "<<: 1",
    "? [complex] : key",
    "on",
    "010",
    "12:30:00",
    "0x1F",
    "é",
)


def mutate(text: str, seed: int) -> str:
    """Return `text` with one to three random injuries."""
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 3)):
        text = rng.choice(_INJURIES)(text, rng)
    return text


def _drop_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines) or "\n"


def _repeat_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    lines.insert(rng.randrange(len(lines)), lines[at])
    return "\n".join(lines)


def _indent_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    lines[at] = " " * rng.randint(0, 9) + lines[at].lstrip() if rng.random() < 0.8 else "\t"
    return "\n".join(lines)


def _change_value(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    candidates = [i for i, line in enumerate(lines) if ": " in line]
    if not candidates:
        return text
    at = rng.choice(candidates)
    lines[at] = lines[at].split(": ", 1)[0] + ": " + rng.choice(HOSTILE)
    return "\n".join(lines)


def _change_character(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    new = rng.choice("{}[]:,!&*#|>'\"%@`-?~ \n\t\\0aZ")
    return text[:at] + new + text[at + rng.randint(0, 1) :]


def _change_number(text: str, rng: random.Random) -> str:
    """The gentlest injury: another whole number where there was one."""
    found = list(re.finditer(r"\b\d+\b", text))
    if not found:
        return text
    match = rng.choice(found)
    old = int(match[0])
    new = rng.choice([old + 1, max(old - 1, 0), 2 * old, 1, 3, 7, 97, 1_000_003, 2**40])
    return text[: match.start()] + str(new) + text[match.end() :]


def _swap_words(text: str, rng: random.Random) -> str:
    """Put a word of the file where another one stood: names that exist, but elsewhere."""
    found = list(re.finditer(r"\b[A-Za-z]\w*\b", text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(found)[0] + text[match.end() :]


def _change_structure(text: str, rng: random.Random) -> str:
    """Swap, remove or replace a random value of the parsed file."""
    from tilewright.arch.errors import TilewrightError

    try:
        data = load_document("mutated.yaml", text=text).data
        boxes = _boxes(data)
        if not boxes:
            return text
        _damage(rng.choice(boxes), data, rng)
        return dump_yaml(data)
    except TilewrightError:
        return text  # an earlier injury was fatal already


def _boxes(data: object) -> list[dict[str, object] | list[object]]:
    found: list[dict[str, object] | list[object]] = []
    queue = [untag(data)]
    while queue:
        box = queue.pop()
        if isinstance(box, dict | list) and box:
            found.append(box)
            queue.extend(map(untag, box.values() if isinstance(box, dict) else box))
    return found


def _damage(box: dict[str, object] | list[object], data: object, rng: random.Random) -> None:
    key = rng.choice(list(box) if isinstance(box, dict) else list(range(len(box))))
    kind = rng.randrange(5)
    if kind == 0:
        del box[key]  # type: ignore[arg-type]
    elif kind == 1:
        box[key] = rng.choice(HOSTILE)  # type: ignore[index]
    elif kind == 2:
        box[key] = rng.choice([None, -1, 0, 1.5, [], {}, True, [[1]], {"a": 1}])  # type: ignore[index]
    elif kind == 3:
        tags = ["Memory", "Toll", "Fork", "Array", "Network", "Container", "Nothing"]
        box[key] = Tagged(rng.choice(tags), untag(box[key]))  # type: ignore[index]
    elif isinstance(box, dict):
        box[rng.choice(["siez", "name", "actions", "<<", "spatial", "x" * 200])] = box.pop(key)
    else:
        rng.shuffle(box)


_INJURIES: tuple[Callable[[str, random.Random], str], ...] = (
    _drop_line,
    _repeat_line,
    _indent_line,
    _change_value,
    _change_value,
    _change_character,
    _change_structure,
    _change_structure,
    _change_number,
    _change_number,
    _swap_words,
)
