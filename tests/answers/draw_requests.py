"""Draw the requests of families from the random generators, and write them as plain data.

python tests/answers/draw_requests.py FAMILY…

What is written needs no generator any more: an edited generator changes no stored request. Drawing
a family again replaces its requests, so it is done when the family should cover more; the answers
are to be stored anew then, from a state of the product whose other answers are all the same.
Requests over a second, and more infeasible ones than a fifth, are left out.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "oracles"))

import machine_families as of_machine
import model_families as of_model
import search_families as of_search
from pinned_answers import REQUESTS, Data, write
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
ALLOWED = {"shipped": 8.0}


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


def drawn(family: str, pool: ProcessPoolExecutor) -> Iterator[tuple[Data, float]]:
    """Yield the family's requests with the seconds that each took."""
    for which, source in enumerate(FAMILIES[family]()):
        refusals = round(source.amount * source.infeasible + 0.2)
        missing, seen = source.amount, set()
        for first in count(source.first, 8):
            seeds = range(first, first + 8)
            if (
                missing == 0
                or first > source.first + (20 if source.refused else 3) * source.amount + 16
            ):
                break
            for made in pool.map(timed, [(family, which, seed) for seed in seeds]):
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
        if missing:
            print(f"{family} {source.about}: {missing} missing", flush=True)


def draw_family(family: str, pool: ProcessPoolExecutor) -> None:
    began = time.monotonic()
    pairs = list(drawn(family, pool))
    records = [{"number": number, **request} for number, (request, _) in enumerate(pairs)]
    write(REQUESTS / f"{family}.json", records)
    path = REQUESTS.parent / "seconds.txt"
    old = path.read_text().splitlines() if path.exists() else []
    lines = [line for line in old if not line.startswith(f"{family}-")]
    lines += [f"{family}-{number:03d} {seconds:.3f}" for number, (_, seconds) in enumerate(pairs)]
    path.write_text("\n".join(sorted(lines)) + "\n")
    total = sum(seconds for _, seconds in pairs)
    print(f"{family}: {len(records)}, {total:.1f} s, drawn in {time.monotonic() - began:.0f} s")


def main(chosen: Sequence[str]) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for family in chosen:
            draw_family(family, pool)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="+", choices=FAMILIES)
    main(parser.parse_args().family)
