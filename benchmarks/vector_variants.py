"""Variants of the reference cases: other sizes, objectives, fields and constraints.

Reads ../shared/data/vectors/optimal_vectors.json, third-party data beside the repository.
"""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

from random_designs import ANY_LANES, ROLES, SETS, Case, lane_rule, rule, written

VECTORS = Path(__file__).resolve().parents[2] / "shared/data/vectors/optimal_vectors.json"
RULES = ("no_refetch_from_above", "no_resend_to_below", "order", "free", "back", "keep")


@cache
def vectors() -> list[dict[str, Any]]:
    """Return the reference cases."""
    if not VECTORS.exists():
        raise SystemExit(f"no reference cases at {VECTORS}: variants of them cannot be made")
    return list(json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"])


def vector_variant(kind: str, seed: int) -> Case:
    """Return a changed case: one to three changes of its files, and any objective."""
    rng = random.Random(f"{kind} {seed}")
    chosen = rng.choice(vectors())
    arch, workload = chosen["arch"], chosen["workload"]
    changes = [_size, _bits, _rank, _rule, _lanes, _fanout, _numbers]
    for change in rng.sample(changes, rng.choice((1, 2, 3))):
        arch, workload = change(rng, arch, workload)
    return Case(arch, workload, rng.choice(("energy", "latency", "edp")))


def _one(rng: random.Random, pattern: str, text: str, new: Any) -> str:
    """Replace one place that fits, chosen at random; `new`: match -> text."""
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    one = rng.choice(found)
    return text[: one.start()] + new(one) + text[one.end() :]


def _size(rng: random.Random, arch: str, workload: str) -> tuple[str, str]:
    """Change the size of one memory but the first."""
    head, _, rest = arch.partition("name: BUF")
    sizes = (32, 64, 100, 160, 256, 384, 600, 1024, 2048, "inf")
    return head + "name: BUF" + _one(
        rng, r"size: \S+", rest, lambda _: f"size: {rng.choice(sizes)}"
    ), workload


def _bits(rng: random.Random, arch: str, workload: str) -> tuple[str, str]:
    pattern = r"bits_per_value: \{All: \d+\}"
    role = "input" if workload.count("einsum:") == 1 else "A"
    widths = rng.choice(({"All": 4}, {"All": 16}, {role: 4, f"~{role}": 8}))
    return arch, _one(rng, pattern, workload, lambda _: f"bits_per_value: {written(widths)}")


def _rank(rng: random.Random, arch: str, workload: str) -> tuple[str, str]:
    """Change the sizes of one or two ranks."""
    for _ in range(rng.choice((1, 2))):
        workload = _one(
            rng, r"\b([A-Z]): \d+", workload, lambda m: f"{m[1]}: {rng.choice((2, 3, 4, 6, 9, 10))}"
        )
    return arch, workload


def _rule(rng: random.Random, arch: str, workload: str) -> tuple[str, str]:
    """Add a constraint to a memory, or change what it keeps."""
    chosen = rng.choice(RULES)
    if chosen == "keep":
        kept = rng.choice(SETS)
        return _inside(rng, arch, f'keep: "{kept}", may_keep: All', replace=True), workload
    more = rule(rng, chosen, "BUF")
    return _inside(rng, arch, written(more)[1:-1]), workload


def _inside(rng: random.Random, arch: str, text: str, replace: bool = False) -> str:
    head, middle, rest = arch.partition("name: BUF")
    pattern = r"tensors: \{([^}\[]*)\}"
    found = _one(
        rng, pattern, rest, lambda m: f"tensors: {{{text if replace else m[1] + ', ' + text}}}"
    )
    return head + middle + found


def _lanes(rng: random.Random, arch: str, workload: str) -> tuple[str, str]:
    """Add a field to a dimension that has none but its fanout."""
    names = sorted({c for c in re.sub(r"\w{2,}", "", workload) if c.islower()})
    more = written(lane_rule(rng, rng.choice(ANY_LANES), names))[1:-1]
    pattern = r"(\{name: \w+, fanout: \d+)\}"
    return _one(rng, pattern, arch, lambda m: f"{m[1]}, {more}}}"), workload


def _fanout(rng: random.Random, arch: str, workload: str) -> tuple[str, str]:
    """Change a fanout; or put a Container with lanes above the Compute."""
    if "fanout:" in arch:
        sizes = (2, 3, 4, 6, 7, 8)
        return _one(rng, r"fanout: \d+", arch, lambda _: f"fanout: {rng.choice(sizes)}"), workload
    lanes = {"name": "x", "fanout": rng.choice((2, 4)), "may_reuse": rng.choice((*ROLES, "All"))}
    added = f"  - !Container\n    name: ADDED\n    spatial: [{written(lanes)}]\n  - !Compute"
    return arch.replace("  - !Compute", added, 1), workload


def _numbers(rng: random.Random, arch: str, workload: str) -> tuple[str, str]:
    """Change an energy, a throughput or the leakage of a component."""
    field, values = rng.choice(
        (("energy", (0, 1, 3, 40)), ("throughput", (1, 4, 32)), ("leak_power", (0, 1, 6)))
    )
    return _one(
        rng, rf"{field}: [\w.]+", arch, lambda _: f"{field}: {rng.choice(values)}"
    ), workload
