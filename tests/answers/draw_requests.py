"""Draw the requests of families from the random generators, and write them as plain data.

python tests/answers/draw_requests.py FAMILY… [--add ABOUT]

What is written needs no generator any more: an edited generator changes no stored request. Drawing
a family again replaces its requests; --add adds those of one source behind them. The answers are to
be stored anew then, from a state of the product whose other answers are all the same.
Requests over a second, and more infeasible ones than a fifth, are left out.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "oracles"))

import machine_families as of_machine
import model_families as of_model
import search_families as of_search
from pinned_answers import REQUESTS, Data, read, write
from request_sources import Source

MOST_SECONDS = 1.0
PATIENCE = 4  # processor seconds beside three times the most; compiled kernels are cached

FAMILIES: dict[str, Callable[[], list[Source]]] = {
    "single": of_search.single,
    "uneven": of_search.uneven,
    "fused": of_search.fused,
    "copies": of_search.copies,
    "fronts": of_search.fronts,
    "options": of_search.options,
    "infeasible": of_search.infeasible,
    "evaluate": of_model.evaluated,
    "vectors": of_model.vectors,
    "commands": of_model.commands,
    "shipped": of_model.shipped,
    "machine": of_machine.machine,
    "tested": of_machine.tested,
    "grid": of_machine.grid,
}
ALLOWED = {"shipped": 8.0, "infeasible": 2.5}


class TooLong(Exception):
    pass


def timed(given: tuple[str, int, int]) -> tuple[Data, float, bool] | None:
    """Draw the request of a seed; return it with its seconds, and whether it is refused."""
    from product_answers import answer

    family, which, seed = given
    source = FAMILIES[family]()[which]
    most = ALLOWED.get(family, MOST_SECONDS)

    def late(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE + 3 * most)
    try:
        request = source.draw(seed)
        if request is None:
            return None
        first = answer(request)  # with what is compiled and imported at first
        if source.refused and first["kind"] != "error":
            return None
        began = time.process_time()
        refused = answer(request)["kind"] == "error"
        seconds = time.process_time() - began
    except TooLong:
        print(f"{family} {source.about} {seed}: too long", flush=True)
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if seconds > most:
        print(f"{family} {source.about} {seed}: {seconds:.1f} s", flush=True)
        return None
    return request, seconds, refused


def drawn(family: str, about: str, pool: ProcessPoolExecutor) -> Iterator[tuple[Data, float]]:
    """Yield the family's requests, or those of one source, with the seconds that each took."""
    for which, source in enumerate(FAMILIES[family]()):
        if about in ("", source.about):
            yield from drawn_from(source, (family, which), pool)


def drawn_from(
    source: Source, place: tuple[str, int], pool: ProcessPoolExecutor
) -> Iterator[tuple[Data, float]]:
    refusals = round(source.amount * source.infeasible + 0.2)
    tries = (20 if source.refused else 3) * source.amount + 16
    missing, seen = source.amount, set()
    for first in range(source.first, source.first + tries, 8):
        for made in pool.map(timed, [(*place, seed) for seed in range(first, first + 8)]):
            if made is None or missing == 0:
                continue
            request, seconds, refused = made
            text = json.dumps(request, sort_keys=True)
            if text in seen or (refused and refusals == 0):
                continue
            seen.add(text)
            refusals -= refused
            missing -= 1
            yield {"about": source.about, **request}, seconds
        if missing == 0:
            return
    print(f"{place[0]} {source.about}: {missing} missing", flush=True)


def draw_family(family: str, about: str, pool: ProcessPoolExecutor) -> None:
    """Write the family's requests; with `about` add those of one source behind the others."""
    path = REQUESTS / f"{family}.json"
    records = read(path) if about else []
    pairs = list(drawn(family, about, pool))
    start = len(records)
    records += [{"number": n, **request} for n, (request, _) in enumerate(pairs, start)]
    write(path, records)
    seconds = {f"{family}-{n:03d}": spent for n, (_, spent) in enumerate(pairs, start)}
    write_seconds(seconds, "" if about else f"{family}-")
    print(f"{family}: {len(pairs)} of {len(records)}, {sum(seconds.values()):.1f} s", flush=True)


def write_seconds(seconds: dict[str, float], replaced: str) -> None:
    """Note the seconds of some requests; lines that begin with `replaced` (not "") go."""
    path = REQUESTS.parent / "seconds.txt"
    old = path.read_text().splitlines() if path.exists() else []
    lines = [line for line in old if not (replaced and line.startswith(replaced))]
    lines += [f"{name} {spent:.3f}" for name, spent in seconds.items()]
    path.write_text("\n".join(sorted(lines)) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="+", choices=FAMILIES)
    parser.add_argument("--add", default="", metavar="ABOUT", help="add those of this source")
    given = parser.parse_args()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for family in given.family:
            draw_family(family, given.add, pool)


if __name__ == "__main__":
    main()
