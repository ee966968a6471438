"""The families of requests that ask for a score, run a command, or are reference cases."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from pinned_answers import Data
from request_sources import OBJECTIVES, Source, of_case, of_space
from search_families import FUSED, FUSED_PLAIN, PLAIN

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
SHARED = Path(os.environ.get("TILEWRIGHT_SHARED_DATA", BESIDE))
"""The reference cases; of these only our own designs are drawn from."""


def evaluated() -> list[Source]:
    """Ask what mappings cost: those of the reference vectors, and those that searches return."""

    def best(draw: Callable[[int], Data]) -> Callable[[int], Data | None]:
        def drawn(seed: int) -> Data | None:
            from product_answers import answer

            request = draw(seed)
            answered = answer(request)
            if answered["kind"] == "error":
                return None
            turned = "default" if seed % 4 == 0 else request["options"].get("conventions")
            return {
                "ask": "evaluate",
                "conventions": turned or "accelforge",
                "arch": request["arch"],
                "workload": request["workload"],
                "mapping": answered["mapping"],
            }

        return drawn

    names = [PLAIN, "array_cases:array_space_of", "network_cases:network_space_of"]
    groups = [FUSED_PLAIN, *list(FUSED)[2:16:3], "copied_cases:random_copied_case"]
    return [
        Source("vector", 40, vector("model_vectors.json", 2), 0, 1),
        *(Source("one", 4, best(of_space(name)), 600) for name in names),
        Source("uneven", 4, best(of_space("uneven_cases:uneven_space")), 600),
        *(Source("several", 3, best(of_case(name)), 600) for name in groups),
    ]


def vector(file: str, step: int) -> Callable[[int], Data | None]:
    def drawn(number: int) -> Data | None:
        vectors = json.loads((SHARED / "vectors" / file).read_text())["vectors"]
        if step * number >= len(vectors):
            return None
        case = vectors[step * number]
        request = {"arch": case["arch"], "workload": case["workload"]}
        if "mapping" in case:
            turned = ("accelforge", "default")[number % 2]
            return {
                "ask": "evaluate", "conventions": turned, **request, "mapping": case["mapping"]
            }  # fmt: skip
        chosen = {
            "conventions": "accelforge",
            "objective": case.get("metric", "ENERGY").lower()
            if case.get("metric", "ENERGY").lower() in OBJECTIVES
            else "edp",
        }
        return {"ask": "search", "options": chosen, **request}

    return drawn


def vectors() -> list[Source]:
    return [Source("optimal", 30, vector("optimal_vectors.json", 1), 0, 1)]


# --- the command line ---------------------------------------------------------------------------


def commands() -> list[Source]:
    def of(draw: Callable[[int], Data], line: str) -> Callable[[int], Data | None]:
        def drawn(seed: int) -> Data | None:
            request = draw(seed)
            files = {"a.yaml": request["arch"], "w.yaml": request["workload"]}
            conventions = request["options"].get("conventions")
            words = line.split()
            args = [words[0], "--arch", "a.yaml", "--workload", "w.yaml", *words[1:]]
            if conventions:
                args += ["--conventions", conventions]
            return {"ask": "command", "args": args, "files": files}

        return drawn

    plain, tight = of_space(PLAIN), of_space("tight_cases:tight_space_of")
    bounded, several = of_space("bound_cases:bound_space_of"), of_case(FUSED_PLAIN)
    return [
        Source("map", 3, of(plain, "map --save m.yaml"), 700),
        Source("map json", 3, of(plain, "map --json --objective edp"), 710),
        Source("map front", 2, of(plain, "map --front energy,latency"), 720),
        Source("map front json", 2, of(plain, "map --front energy,usage --json"), 730),
        Source("map several", 2, of(several, "map --objective latency"), 700),
        Source("map several json", 2, of(several, "map --json --front energy,latency"), 710),
        Source("map no fusion", 2, of(several, "map --no-fusion --json"), 720),
        Source("mapspace", 6, of(bounded, "mapspace"), 740, 1),
        Source("mapspace json", 4, of(bounded, "mapspace --json"), 760, 1),
        Source("mapspace several", 4, of(several, "mapspace"), 740, 1),
        Source("mapspace no fusion", 2, of(several, "mapspace --no-fusion --json"), 750, 1),
        Source("why not A@BUF", 4, of(plain, "map --why-not A@BUF"), 760, 1),
        Source("why not B@BUF", 4, of(tight, "map --why-not B@BUF --json"), 760, 1),
        Source("why not Z@REG", 3, of(tight, "map --why-not Z@REG"), 770, 1),
        Source("why not Y@BUF", 4, of(several, "map --why-not Y@BUF"), 760, 1),
        Source("why not Y@DRAM", 2, of(several, "map --why-not Y@DRAM --json"), 770, 1),
    ]


MATMUL = """\
workload:
  rank_sizes: {M: 64, K: 96, N: 128}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "Z[m, n] = A[m, k] * B[k, n]"
    renames: {input: A, weight: B, output: Z}
"""
TPU = "--arch tpu_v4i --workload"
SHIPPED = (
    f"map {TPU} w.yaml",
    f"map {TPU} w.yaml --json --objective edp",
    f"map {TPU} w.yaml --front energy,latency --json",
    f"map {TPU} w.yaml --conventions accelforge --save m.yaml",
    f"map {TPU} w.yaml --why-not B@GlobalBuffer",
    f"map {TPU} w.yaml --method random --seed 5 --json",
    f"map {TPU} w.yaml --budget 0 --json",
    f"mapspace {TPU} w.yaml",
    f"mapspace {TPU} w.yaml --json",
    f"map {TPU} gpt3_6_7b_projections",
    f"map {TPU} gpt3_6_7b_projections --objective edp --json",
    f"map {TPU} gpt3_6_7b_projections --objective latency --no-fusion --json",
    f"map {TPU} gpt3_6_7b_projections --budget 0 --json",
    f"map {TPU} llama_projections --json",
    f"map {TPU} llama_projections --objective latency --einsum key",
    f"map {TPU} w.yaml --set Unknown=3",
    f"map {TPU} w.yaml --set M=128 --json",
    "map --arch tpu_v4 --workload w.yaml",
    "study list",
    "study list --json",
    "validate w.yaml",
    "validate w.yaml --json",
    "--help",
    "map --help",
    "mapspace --help",
    "validate --help",
    "study run --help",
    "evaluate --arch tpu_v4i --workload w.yaml --mapping w.yaml",
)
TRIAL = (
    "map --arch edge_npu.yaml --workload bottleneck.yaml --einsum T1 --objective edp --json",
    "map --arch edge_npu.yaml --workload bottleneck.yaml --einsum O --why-not W3@GlobalBuffer",
    "map --arch edge_npu.yaml --workload bottleneck.yaml --budget 0 --json",
    "map --arch edge_npu.yaml --workload attention.yaml --no-fusion --json",
    "map --arch edge_npu.yaml --workload attention.yaml --einsum S --front energy,latency --json",
    "map --arch edge_npu.yaml --workload attention.yaml --einsum D --conventions accelforge",
    "map --arch edge_npu.yaml --workload attention.yaml --budget 0 --json",
    "validate edge_npu.yaml",
    "validate edge_npu.yaml --json",
)


def _padded(text: str) -> str:
    """Declare the padding of the convolution in the workload of the trial."""
    return text.replace("S: 3, N: 256}\n", "S: 3, N: 256}\n  pad: {P: 1, Q: 1}\n")


def shipped() -> list[Source]:
    """Ask about what ships, and about designs of real size; a few seconds are allowed here."""

    def ships(number: int) -> Data | None:
        if number >= len(SHIPPED):
            return None
        return {"ask": "command", "args": SHIPPED[number].split(), "files": {"w.yaml": MATMUL}}

    def trial(number: int) -> Data | None:
        if number >= len(TRIAL):
            return None
        args = TRIAL[number].split()
        names = sorted({word for word in args if word.endswith(".yaml")})
        return {
            "ask": "command",
            "args": args,
            "files": {name: _padded((SHARED / "trial" / name).read_text()) for name in names},
        }

    return [
        Source("shipped", len(SHIPPED), ships, 0, 1),
        Source("real size", len(TRIAL), trial, 0, 1),
    ]
