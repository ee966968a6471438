"""Run the random families of tests with fresh seeds for some seconds: `make explore SECONDS=600`.

Rounds follow each other, each with a seed of its own, until the time is over. A round that finds a
failure prints how to replay it; its seed is repeated at the end.
"""

import secrets
import subprocess
import sys
import time

FIRST_SEED, LAST_SEED = 1_000, 1_000_000


def main(seconds: float) -> int:
    """Return 1 if any round failed, else 0."""
    end = time.monotonic() + seconds
    failed = []
    rounds = 0
    while (left := end - time.monotonic()) > 0:
        seed = FIRST_SEED + secrets.randbelow(LAST_SEED - FIRST_SEED)
        print(f"explore: seed {seed}, {left:.0f} seconds left", flush=True)
        command = [sys.executable, "-m", "pytest", "-m", "", f"--explore-seed={seed}"]
        if subprocess.run([*command, f"--explore-seconds={left:.0f}"], check=False).returncode:
            failed.append(seed)
        rounds += 1
    print(f"explore: {rounds} rounds, {len(failed)} with failures, seeds {failed}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
