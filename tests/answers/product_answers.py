"""Answer a stored request with the product: the one place of the net that calls it.

When a module, a class or a field of the product is renamed, this file follows; the requests and
the stored answers do not, because their keys are written out here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from click.testing import CliRunner

from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.cli import cli
from tilewright.dse.command.shipped import find_files
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.exact import exact
from tilewright.mapper.searches.methods import fallback
from tilewright.mapper.searches.uneven import uneven_search
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.fast.fast_machine import run_fast
from tilewright.simulator.lowering.passes.plan_passes import plan_lines
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.show.timeline import perfetto
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

Data = dict[str, Any]

FOLDERS = re.compile(r"(?:/[^/\s:'\"]+)+/(?=[^/\s:'\"]+\.yaml)")
PROGRESS = re.compile(r"^\d+ s: .*\n", re.MULTILINE)  # lines of a search that takes long
SECONDS = re.compile(r"searched in \S+ s")
SCOPE = re.compile(
    r"^(.*?(?:optimal|lower bound|Pareto set|points).*?)"
    r"(?:; restrictions: (.*)|, without restriction)$",
    re.MULTILINE,
)


def answer(request: Data) -> Data:
    """Return the answer to a request as plain data; an error of a user is an answer too."""
    try:
        with _patience():
            answered = ANSWERERS[request["ask"]](request)
    except TilewrightError as error:
        answered = error_data(error)
    return plain(answered)


@contextmanager
def _patience() -> Iterator[None]:
    """Let a search that is stopped at once take its time for its first mapping.

    A machine with much to do may not find it in the fifth of a second that the product allows.
    """
    with ExitStack() as patches:
        for module in (exact, fallback, uneven_search):
            patches.enter_context(patch.object(module, "PATIENCE", 60.0))
        yield


def error_data(error: TilewrightError) -> Data:
    return {"kind": "error", "exit_code": error.exit_code, "text": str(error)}


def plain(value: Any) -> Any:
    """Return JSON data: numbers without end as words, numbers of numpy as Python's."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


# --- the mapper ---------------------------------------------------------------------------------


def arch_of(request: Data) -> Arch:
    """Load the architecture of a request: its text, or a shipped file, with changed fields."""
    if "shipped_arch" in request:
        (path,) = find_files((request["shipped_arch"],), "hardware")
        arch = load_arch(path)
    else:
        arch = load_arch(request["arch"])
    return arch.with_values(request["values"]) if "values" in request else arch


def answer_search(request: Data) -> Data:
    options = dict(request.get("options", {}))
    result = search(arch_of(request), load_workload(request["workload"]), **options)
    certificate, score, proof = result.certificate, result.best.score, result.front_proof
    found: Data = {
        "kind": certificate.kind,
        "objective": certificate.objective,
        "value": certificate.value,
        "bound": certificate.lower_bound,
        "gap": certificate.gap,
        "energy": score.energy,
        "latency": score.latency,
        "area": score.area,
        "mapping": dump_mapping(result.best.mapping),
        "on_chip": result.on_chip,
        "notes": result.notes,
    }
    scopes = [certificate.scope]
    if proof is not None:
        found["front_up_to"] = proof.energy
        found["front"] = [
            {name: point.score.metric(name) for name in proof.metrics} for point in result.front
        ]
        found["front_mappings"] = [dump_mapping(point.mapping) for point in result.front]
        scopes.append(proof.scope)
    return {**found, "scope": scopes}


def answer_evaluate(request: Data) -> Data:
    score = evaluate(
        arch_of(request),
        load_workload(request["workload"]),
        load_mapping(request["mapping"]),
        request.get("conventions", "default"),
    )
    return {"kind": "score", **score.to_dict()}


# --- the command line ---------------------------------------------------------------------------


def answer_command(request: Data) -> Data:
    """Run a command in a folder with the request's files.

    Folders and seconds are left out; scopes stand apart.
    """
    with folder_with(request.get("files", {})) as folder:
        ran = CliRunner().invoke(cli, request["args"])
        if ran.exception is not None and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        written = sorted({path.name for path in folder.iterdir()} - request.get("files", {}).keys())
        files = {
            name: (folder / name).read_text(encoding="utf-8")
            for name in written
            if not name.endswith(".html")  # a page has seconds in it
        }
    scopes: list[str] = []
    stdout = FOLDERS.sub("", ran.stdout)
    if "--json" in request["args"] and ran.exit_code == 0:
        out: Any = without_scopes(json.loads(stdout), scopes)
    else:
        out = cut_scopes(SECONDS.sub("searched", stdout), scopes)
    return {
        "kind": "output",
        "exit_code": ran.exit_code,
        "out": out,
        "err": cut_scopes(FOLDERS.sub("", PROGRESS.sub("", ran.stderr)), scopes),
        "written": written,
        "files": files,
        "scope": scopes,
    }


@contextmanager
def folder_with(files: Mapping[str, str]) -> Iterator[Path]:
    """Work in a new folder with some files."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def without_scopes(document: Any, scopes: list[str]) -> Any:
    """Return a JSON document without seconds; move its scopes to a list."""
    if isinstance(document, dict):
        if "scope" in document:
            scopes.append(document["scope"])
        return {
            key: without_scopes(item, scopes)
            for key, item in document.items()
            if key not in ("scope", "restrictions", "seconds")
        }
    if isinstance(document, list):
        return [without_scopes(item, scopes) for item in document]
    return document


def cut_scopes(text: str, scopes: list[str]) -> str:
    """Return a text for the terminal without its scopes; move these to a list."""

    def cut(match: re.Match[str]) -> str:
        scopes.append(match[2] or "all mappings")
        return f"{match[1]} among …"

    return SCOPE.sub(cut, text)


# --- the machine --------------------------------------------------------------------------------


def answer_run(request: Data) -> Data:
    """Run the text of a program on both engines; the second is told apart where it differs."""
    program = parse_program(request["program"], "program.txt")
    profile = profile_of(request)
    memory = {name: array_of(packed) for name, packed in request.get("memory", {}).items()}
    edges = {name: array_of(packed) for name, packed in request.get("edges", {}).items()}
    machine = dict(request.get("machine", {}))
    reference = outcome(
        lambda: run_data(
            Machine(program, profile, **machine).run(memory=memory, edges=edges, timeline=True)
        )
    )

    def by_fast_engine() -> Data:
        found = run_fast(program, profile, memory, edges, timeline=True)
        told = {"granted": found.certificate.granted, "elements": found.certificate.elements}
        return {**run_data(found.result), "fast_engine": told, "scope": [found.engine]}

    fast = outcome(by_fast_engine)
    reference["text_again"] = parse_program(print_program(program)) == program
    return reference if machine else beside(reference, fast)


def beside(reference: Data, fast: Data) -> Data:
    """Return the reference engine's result, with what the other engine says otherwise."""
    told = {key: fast.pop(key) for key in ("fast_engine", "scope") if key in fast}
    keys = [key for key in {**reference, **fast} if key != "text_again"]
    differs = {key: fast.get(key) for key in keys if reference.get(key) != fast.get(key)}
    return {**reference, **told, "fast_engine_differs": differs}


def outcome(run: Callable[[], Data]) -> Data:
    try:
        return run()
    except TilewrightError as error:
        return error_data(error)


def profile_of(request: Data) -> Profile:
    return load_profile(request["profile"]).with_values(request.get("changes", {}))


def run_data(result: RunResult) -> Data:
    counts, trace = result.counts, result.trace
    found = {
        "kind": "run",
        "cycles": result.cycles,
        "counts": {
            "memory_reads": dict(counts.memory_reads),
            "memory_writes": dict(counts.memory_writes),
            "memory_read_words": counts.memory_read_words,
            "memory_write_words": counts.memory_write_words,
            "macs": counts.macs,
            "adds": counts.adds,
            "multiplies": counts.multiplies,
            "moves": counts.moves,
            "wavelet_hops": counts.wavelet_hops,
            "ramp_in_words": counts.ramp_in_words,
            "ramp_out_words": counts.ramp_out_words,
            "edge_in_words": counts.edge_in_words,
            "edge_out_words": counts.edge_out_words,
        },
        "memory": {name: digest(array) for name, array in sorted(result.memory.items())},
        "edges": {
            name: [digest(stream.values), digest(stream.cycles)]
            for name, stream in sorted(result.edges.items())
        },
        "element_cycles": digest(trace.element_cycles),
        "link_words": digest(trace.link_words),
        "element_macs": digest(trace.element_macs),
        "timeline": digest_of_text(json.dumps(perfetto(result), sort_keys=True)),
    }
    if trace.queue_word_cycles is not None:
        found["queue_word_cycles"] = digest(trace.queue_word_cycles)
    return found


def answer_grid(request: Data) -> Data:
    """Read a mapping on the grid, lower it and execute it on numbers."""
    workload = load_workload(request["workload"])
    einsum = workload.einsums[0]
    flat = flatten(arch_of(request), workload.scope(einsum.name))[0]
    settings = ExecutionSettings(machine=request["profile"])
    run = execute_einsum(space_time(flat, einsum, load_mapping(request["mapping"])), settings)
    text = print_program(program_of(run.plan))
    return {
        "kind": "run",
        "cycles": run.cycles,
        "lower_bound_cycles": run.lower_bound_cycles,
        "energy_by": dict(run.energy_by),
        "counts": dict(run.counts),
        "cycles_by": run.trace.cycles_by_reason(),
        "element_cycles": digest(run.trace.element_cycles),
        "link_words": digest(run.trace.link_words),
        "output": digest(run.output),
        "plan": plan_lines(run.plan),
        "program": [len(text.splitlines()), digest_of_text(text)],
        "scope": [run.engine],
    }


def digest(array: Any) -> str:
    """Name an array: its type, its shape and the beginning of a digest of its bytes."""
    array = np.ascontiguousarray(array)
    shape = "x".join(map(str, array.shape))
    return f"{array.dtype}[{shape}] {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"


def digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def packed_array(values: Any) -> Any:
    """Write an array, or arrays by element, as JSON data."""
    if isinstance(values, Mapping):
        return [[*map(int, place), packed_array(array)] for place, array in values.items()]
    array = np.ascontiguousarray(values)
    data = base64.b64encode(array.tobytes()).decode("ascii")
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def array_of(packed: Any) -> Any:
    """Read what `packed_array` wrote."""
    if isinstance(packed, list):
        return {(row, column): array_of(array) for row, column, array in packed}
    data = np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["dtype"])
    return data.reshape(packed["shape"]).copy()


ANSWERERS: dict[str, Callable[[Data], Data]] = {
    "search": answer_search,
    "evaluate": answer_evaluate,
    "command": answer_command,
    "run": answer_run,
    "grid": answer_grid,
}
