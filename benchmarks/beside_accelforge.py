"""Random cases searched by both mappers: whose optimum is lower?

    python benchmarks/beside_accelforge.py --accelforge /path/to/other/bin/python3.12 \
        KIND [--first 0] [--last 50] [--limit 40] [--log FILE] [--show]

KIND: one of random_designs.KINDS, `vectors` (variants of the reference cases), or `every`. Each
case is searched under the accelforge conventions; each tool has --limit CPU seconds. Where ours is
lower, AccelForge scores our mapping; where theirs is lower, our model scores theirs. AccelForge
lives in an environment of its own; mapper_speed.py says how to install it. Without it nothing is
compared, and the command fails.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any

from mapper_speed import interpreter
from random_designs import KINDS, Case, random_case
from vector_variants import vector_variant

from tilewright.arch.components.components import Memory
from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.workload_loading import load_workload

HERE = Path(__file__).resolve().parent
CLOSE = 2e-6  # relative; the peer explores in float32 and prints the final score in float64
Answer = dict[str, Any]
Point = tuple[float, ...]  # energy, latency, bits used of each finite memory


class Late(BaseException):
    """The CPU seconds of a case are spent."""


class Peer:
    """AccelForge in a process of its own, started again when it dies."""

    def __init__(self, python: str, limit: float) -> None:
        self._python, self._limit = python, limit
        self._start()

    def ask(self, question: dict[str, Any]) -> Answer:
        """Return its optimum, or its score if there is a mapping in the question."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({**question, "limit": self._limit}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._start()
            return {"error": "the process died"}
        return dict(json.loads(line))

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [self._python, str(HERE / "accelforge_peer.py")], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=tempfile.gettempdir(),  # AccelForge writes a picture where it stands
        )  # fmt: skip


def ours(case: Case, limit: float) -> Answer:
    """Return our optimum, or why there is none."""
    signal.setitimer(signal.ITIMER_PROF, limit)
    begun = time.process_time()
    try:
        arch, workload = load_arch(case.arch), load_workload(case.workload)
        several = tuple(case.objective.split("|"))
        sizes = memories(case)
        found = search(
            arch, workload, conventions="accelforge", objective=several[0],
            front=several if len(several) > 1 else (), uneven=("all",) if case.uneven else (),
            max_fused_loops_per_rank_variable=case.repeats,
        )  # fmt: skip
        proof = found.certificate
        answer = {
            "value": proof.value, "kind": proof.kind, "notes": list(found.notes),
            "mapping": dump_mapping(found.best.mapping),
            "front": [_point(one.score, sizes) for one in found.front],
            "mappings": [dump_mapping(one.mapping) for one in found.front],
        }  # fmt: skip
    except Late:
        answer = {"late": limit}
    except TilewrightError as error:
        answer = {"refused": f"{type(error).__name__}: {error}"}
    except Exception:
        answer = {"crash": traceback.format_exc()[-1500:]}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {**answer, "seconds": time.process_time() - begun}


def memories(case: Case) -> dict[str, float]:
    """Return the sizes of the memories whose usage counts; none if usage does not."""
    if "usage" not in case.objective:
        return {}
    arch, workload = load_arch(case.arch), load_workload(case.workload)
    flats = [flat for one in workload.einsums for flat in flatten(arch, workload.scope(one))]
    found = {c.name: c.size for flat in flats for c in flat.components if isinstance(c, Memory)}
    return {name: float(found[name]) for name in sorted(found) if found[name] < inf}


def _point(score: Score, sizes: dict[str, float]) -> Point:
    bits = (float(score.capacity.get(name, 0)) for name in sizes)
    return (score.energy, score.latency, *bits)


def _its_point(point: Answer, sizes: dict[str, float]) -> Point:
    bits = (point["usage"].get(name, 0) * size for name, size in sizes.items())
    return (point["energy"], point["latency"], *bits)


def verdict(case: Case, mine: Answer, its: Answer, peer: Peer) -> str:
    """Compare two answers; a verdict in capitals asks for somebody to look."""
    if "crash" in mine:
        return "CRASH " + mine["crash"]
    if "value" in mine and "value" in its:
        return _compared(case, mine, its, peer)
    if "value" in its:
        why = mine.get("refused", "late")
        return f"REFUSED HERE ({why}); {_by_our_model(case, its)}"
    if "value" in mine:
        return "late there" if "late" in its else f"failed there: {its['error']}"
    return "LATE HERE; none there" if "late" in mine else "none in either"


def _compared(case: Case, mine: Answer, its: Answer, peer: Peer) -> str:
    value, other = mine["value"], its["value"]
    if its["front"]:
        return _fronts((case, peer), mine, its["front"])
    if abs(value - other) <= CLOSE * max(abs(value), abs(other)):
        return "equal"
    if value > other:
        score = peer.ask({**asdict(case), "mapping": its["mapping"]})
        if "energy" not in score:
            return f"failed there: its evaluator refuses its mapping: {score}"
        return f"WORSE by {value / other - 1:.4%}; {_by_our_model(case, its)}"
    score = peer.ask({**asdict(case), "mapping": mine["mapping"]})
    if "energy" not in score:
        return f"BETTER, but it cannot score our mapping: {score}"
    again = _measured(case, score["energy"], score["latency"])
    agreed = abs(again - value) <= CLOSE * max(abs(value), abs(again))
    return "better, confirmed" if agreed else f"BETTER, but it scores our mapping {again}"


def _fronts(asked: tuple[Case, Peer], mine: Answer, found: list[Answer]) -> str:
    """Compare two sets of points: does each point lie above one of the other set?"""
    case, peer = asked
    sizes = memories(case)
    its = [_its_point(one, sizes) for one in found]
    missed = [point for point in its if not _reached(point, mine["front"])]
    if missed:
        return f"WORSE: nothing here reaches {missed}"
    more = [number for number, point in enumerate(mine["front"]) if not _reached(point, its)]
    for number in more:
        score = peer.ask({**asdict(case), "mapping": mine["mappings"][number]})
        if "energy" not in score:
            return f"BETTER: {mine['front'][number]}, but it cannot score our mapping: {score}"
        again = [_its_point(score, sizes)]
        if not (_reached(mine["front"][number], again) and _reached(again[0], mine["front"])):
            return f"BETTER: {mine['front'][number]}, but it scores our mapping {score}"
    return "better, confirmed" if more else "equal"


def _reached(point: Point, front: list[Point]) -> bool:
    most = [value + CLOSE * abs(value) for value in point]
    return any(all(a <= b for a, b in zip(one, most, strict=True)) for one in front)


def _by_our_model(case: Case, its: Answer) -> str:
    try:
        mapping = load_mapping(its["mapping"])
        score = score_mapping(
            load_arch(case.arch), load_workload(case.workload), mapping, "accelforge"
        )
    except TilewrightError as error:
        return f"our model refuses its mapping ({its['value']}): {error}"
    return f"its {its['value']}, by our model {_measured(case, score.energy, score.latency)}"


def _measured(case: Case, energy: float, latency: float) -> float:
    return {"energy": energy, "latency": latency, "edp": energy * latency}[case.objective]


def late(*_: object) -> None:
    raise Late


def parsed() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=(*KINDS, "vectors", "every"))
    parser.add_argument("--accelforge", metavar="PYTHON", help="interpreter that has AccelForge")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=50)
    parser.add_argument("--limit", type=float, default=40, help="CPU seconds of each tool")
    parser.add_argument("--log", type=Path, help="file of JSON lines that grows")
    parser.add_argument("--show", action="store_true", help="print the files of each case")
    return parser.parse_args()


def compare(kind: str, seed: int, peer: Peer, arguments: argparse.Namespace) -> str:
    """Search one case with both tools and say what came out."""
    make: Callable[[str, int], Case] = vector_variant if kind == "vectors" else random_case
    case = make(kind, seed)
    if arguments.show:
        print(case.arch, case.workload, case.objective, sep="\n")
    mine, its = ours(case, arguments.limit), peer.ask(asdict(case))
    said = verdict(case, mine, its, peer)
    if arguments.show:
        print(json.dumps([mine, its], indent=1).replace("\\n", "\n"))
    if arguments.log:
        entry = {"kind": kind, "seed": seed, "verdict": said, "ours": mine, "theirs": its}
        with arguments.log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(entry) + "\n")
    print(kind, seed, " | ".join(said.splitlines())[:300], f"{mine['seconds']:.2f}", flush=True)
    return said


def main() -> None:
    """Compare what is asked for and count the verdicts."""
    arguments = parsed()
    peer = Peer(interpreter(arguments.accelforge), arguments.limit)
    signal.signal(signal.SIGPROF, late)
    kinds = (*KINDS, "vectors") if arguments.kind == "every" else (arguments.kind,)
    counts: Counter[str] = Counter()
    for seed in range(arguments.first, arguments.last):
        for kind in kinds:
            said = compare(kind, seed, peer, arguments)
            first = said.split()[0].rstrip(",;")
            counts[f"{first} there" if first in ("late", "failed") else first] += 1
    print(*(f"{name}: {count}" for name, count in sorted(counts.items())), sep="\n")
    if any(name.isupper() and name != "BETTER" for name in counts):
        sys.exit(1)


if __name__ == "__main__":
    main()
