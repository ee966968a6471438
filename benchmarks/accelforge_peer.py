"""Answers cases, one JSON line each, with AccelForge's optimum or its score of a mapping.

Run by beside_accelforge.py in AccelForge's own interpreter; imports nothing of this project.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

COLUMNS = {"energy": "ENERGY", "latency": "LATENCY", "edp": "ENERGY_DELAY_PRODUCT"}
USAGE = "RESOURCE_USAGE"  # no column of its own


class Late(BaseException):
    """The CPU seconds of a case are spent; no `except Exception` of the tool swallows it."""


def specification(af: Any, case: dict[str, Any]) -> Any:
    """Load the files of a case."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name in ("arch", "workload", "mapping"):
            if name in case:
                files.append(Path(folder) / f"{name}.yaml")
                files[-1].write_text(case[name], encoding="utf-8")
        return af.Spec.from_yaml(*map(str, files))


def solved(af: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Return the least value and its mapping."""
    spec = specification(af, case)
    asked = case["objective"].split("|")
    columns = [COLUMNS[name] for name in asked if name != "usage"]
    metrics = columns + [USAGE] * ("usage" in asked)
    spec.mapper.metrics = reduce(or_, (getattr(af.mapper.Metrics, one) for one in metrics))
    spec.mapper.explore_imperfect_temporal_loops = case["uneven"]
    spec.mapper.explore_imperfect_spatial_loops = case["uneven"]
    spec.mapper.max_fused_loops_per_rank_variable = case["repeats"]
    found = spec.map_workload_to_arch(print_progress=False)
    table = [[float(n) for n in found.data["Total<SEP>" + one.lower()]] for one in columns]
    values = table[0]
    best = min(range(len(values)), key=values.__getitem__)
    mapping = found.data["Total<SEP>mapping"].iloc[best]
    mapping = mapping() if callable(mapping) else mapping
    text = "mapping:\n  nodes:\n" + "\n".join(lines(mapping.nodes, 2, users(spec))) + "\n"
    front = points(found) if len(asked) > 1 else []
    return {"value": values[best], "mapping": text, "front": front}


def scored(af: Any, case: dict[str, Any]) -> dict[str, Any]:
    """Return energy and latency of a given mapping."""
    return points(specification(af, case).evaluate_mapping())[0]


def points(found: Any) -> list[dict[str, Any]]:
    """Return energy, latency and the used part of each memory of every mapping found."""
    energy = found.energy(list_if_one_mapping=True)
    latency = found.latency(list_if_one_mapping=True)
    usage = found.resource_usage(list_if_one_mapping=True)
    return [
        {
            "energy": float(energy[number]),
            "latency": float(latency[number]),
            "usage": {str(name): float(parts[number]) for name, parts in usage.items()},
        }
        for number in range(len(energy))
    ]


def users(spec: Any) -> dict[str, list[str]]:
    """Return the Einsums that have each rank variable."""
    found: dict[str, list[str]] = {}
    for einsum in spec.workload.einsums:
        for variable in einsum.rank_variables:
            found.setdefault(str(variable), []).append(einsum.name)
    return found


def looped(node: Any, einsums: dict[str, list[str]]) -> str:
    """Write the rank variable of a loop; of one that Einsums share under several names, all."""
    if isinstance(node.rank_variable, str):
        return f"rank_variable: {node.rank_variable}"
    one, *others = sorted(node.rank_variable)
    names = ", ".join(f"{einsum}: {other}" for other in others for einsum in einsums[other])
    return f"rank_variable: {one}, names: {{{names}}}"


def lines(nodes: Any, depth: int, einsums: dict[str, list[str]]) -> Iterator[str]:
    """Write the nodes of a mapping as YAML; `einsums` that have each rank variable."""
    pad = "  " * (depth - 1)
    for node in nodes:
        kind = type(node).__name__
        if kind in ("Storage", "Toll"):
            more = ", persistent: true" if getattr(node, "persistent", False) else ""
            held = ", ".join(node.tensors)
            yield f"{pad}- !{kind} {{tensors: [{held}], component: {node.component}{more}}}"
        elif kind in ("Temporal", "Spatial"):
            place = f", component: {node.component}, name: {node.name}" if kind == "Spatial" else ""
            loop = f"{looped(node, einsums)}, tile_shape: {node.tile_shape}"
            yield f"{pad}- !{kind} {{{loop}{place}}}"
        elif kind == "Compute":
            yield f"{pad}- !Compute {{einsum: {node.einsum}, component: {node.component}}}"
        elif hasattr(node, "nodes"):
            yield f"{pad}- !{kind}\n{pad}  nodes:"
            yield from lines(node.nodes, depth + 1, einsums)


def late(*_: object) -> None:
    raise Late


def main() -> None:
    """Answer until the input ends."""
    warnings.filterwarnings("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the tool prints
    import accelforge as af
    import accelforge.frontend.mapper.metrics as metrics

    af.mapper.Metrics = metrics.Metrics
    logging.disable(logging.CRITICAL)
    af.set_n_parallel_jobs(1)
    signal.signal(signal.SIGPROF, late)
    for line in sys.stdin:
        case = json.loads(line)
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, case["limit"])
        try:
            answer = (scored if "mapping" in case else solved)(af, case)
        except Late:
            answer = {"late": case["limit"]}
        except BaseException as error:  # whatever the tool raises is its answer
            answer = {"error": f"{type(error).__name__}: {str(error)[:400]}"}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        answer["seconds"] = time.process_time() - begun
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
