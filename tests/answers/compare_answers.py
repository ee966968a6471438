"""Compare the product's answers with the stored ones, on worker processes, or store them anew.

python tests/answers/compare_answers.py [--update] [--jobs N] [FAMILY…]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from pinned_answers import (
    Data,
    Pinned,
    all_requests,
    difference,
    families,
    stored_answers,
    write_answers,
)

JOBS = 2


def answered(pinned: Pinned) -> Data:
    from product_answers import answer

    return answer(pinned.request)


def answers_of(requests: Sequence[Pinned], jobs: int) -> Iterator[tuple[Pinned, Data]]:
    """Yield every request with its answer of now, in order."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from zip(requests, pool.map(answered, requests, chunksize=4), strict=True)


def compare(requests: Sequence[Pinned], jobs: int) -> list[str]:
    """Return what differs, one text per request."""
    stored = {family: stored_answers(family) for family in {one.family for one in requests}}
    differing = []
    for pinned, answer in answers_of(requests, jobs):
        text = difference(pinned, stored[pinned.family].get(pinned.number), answer)
        if text:
            differing.append(text)
    return differing


def update(requests: Sequence[Pinned], jobs: int) -> None:
    """Store the answers of now, those of whole families."""
    found: dict[str, dict[int, Data]] = {}
    for pinned, answer in answers_of(requests, jobs):
        found.setdefault(pinned.family, {})[pinned.number] = answer
    for family, answers in found.items():
        write_answers(family, answers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*", help=f"one of {', '.join(families())}; none: all")
    parser.add_argument("--update", action="store_true", help="store the answers of now")
    parser.add_argument("--jobs", type=int, default=min(JOBS, os.cpu_count() or 1))
    given = parser.parse_args()
    began = time.monotonic()
    requests = all_requests(given.family)
    if given.update:
        differing = []
        update(requests, given.jobs)
    else:
        differing = compare(requests, given.jobs)
    for text in differing:
        print(text, end="\n\n")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    word = "stored" if given.update else f"compared, {len(differing)} differ"
    print(
        f"{len(requests)} answers {word}; {time.monotonic() - began:.0f} s,"
        f" {used.ru_utime + used.ru_stime:.0f} s of processors"
    )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
