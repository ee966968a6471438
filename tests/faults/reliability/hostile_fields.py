"""Put a hostile value into each field of a file in turn, and run the command line on it.

    python tests/faults/reliability/hostile_fields.py [--kind arch] [--count 100] [--seed 1]

Every run is a process of its own, forked from one that has imported everything. What is wrong with
a run: a traceback or an internal error, an exit code that has no meaning, standard output that is
no JSON, a control character in what it says, more seconds or memory than a small file may take.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tilewright
from tilewright.arch.files.document import DocPath, Tagged, untag
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.printing import dump_yaml
from tilewright.simulator.profiles.profile import FOLDER

VALUES = (
    *("", "null", "true", "-1", "0", "1", "1.5", "1e-300", "1e308", "1e400", "-1e400", ".inf"),
    *("-.inf", ".nan", "nan", "inf", "2**64", "10**400", "2**2**2**2**2", "10**(10**9)", "1/0"),
    *("9" * 400, "0x" + "f" * 300, "(-8)**0.5", "1 if 0 else -1", "5 ps * 1 kB", "3 MiB", "[]"),
    *("{}", "[1, 2]", "[[[[]]]]", "{a: {b: c}}", "{All: 8}", "[null]", "[.nan]", "x", "All"),
    *("Nothing", "~All", "input | output", "All.rank_variables", "DRAM", "MAC", "m", "Z"),
    *("a.n_calls", "max()", "sum(1 for a in range(10**9))", "'a' * 10**9", "size"),
    *("().__class__", "lambda: 1", "*no", '"\\e[31m"', '"\\0"', '"a\\nb"', '"\\ud800"'),
    *("'../../etc/passwd'", "!Memory {}", "!Nothing 3", "é", '"a/b"', "x" * 999, "/dev/zero"),
    "'Z[m, n] = A[m, k] * B[k, n] * 1e400'", "(" * 200 + "1" + ")" * 200,
)  # fmt: skip
"""YAML texts that stand in the place of a value."""
KEYS = ("nothing", '"\\e[31m"', "<<", "1", "null", "[]", "name", "enabled", "spatial", "''")
"""YAML texts that stand in the place of a key."""
_MARK = "place_of_a_hostile_value"
_SECONDS, _MEGABYTES = 8.0, 700
_TOO_LONG = "s of a processor"
_CODES = (0, 2, 3, 4)


@dataclass(frozen=True)
class Target:
    """A file with its kind, and commands that read it; `{}` stands for its name in them."""

    kind: str
    text: str
    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Place:
    """A value in the data of a file, or its key."""

    data: object
    path: DocPath
    is_key: bool = False

    @property
    def field(self) -> str:
        """The place in words."""
        return f"{'key ' if self.is_key else ''}{'.'.join(map(str, self.path))}"

    def text(self, value: str) -> str:
        """Return the file with a YAML text in this place."""
        whole = dump_yaml(_with(self.data, self.path, _MARK, self.is_key))
        assert whole.count(_MARK) == 1, self.field
        return whole.replace(_MARK, value)


@dataclass(frozen=True)
class Case:
    """One changed file: the place, what stands there now, the command."""

    place: Place
    value: str
    command: tuple[str, ...]

    @property
    def field(self) -> str:
        """The place in words."""
        return self.place.field

    @property
    def text(self) -> str:
        """The file."""
        return self.place.text(self.value)

    def __str__(self) -> str:
        shown = self.value if len(self.value) < 60 else f"{self.value[:57]}..."
        return f"{' '.join(self.command[:3])}: {self.field} = {shown}"


def cases(target: Target) -> Iterator[Case]:
    """Yield each value in the place of each value of the file, each key in that of each key."""
    data = load_document(f"{target.kind}.yaml", text=target.text).data
    for path in _paths(data):
        places = [(Place(data, path), VALUES)]
        if isinstance(path[-1], str):
            places.append((Place(data, path, is_key=True), KEYS))
        for place, texts in places:
            for text in texts:
                yield from (Case(place, text, command) for command in target.commands)


def _paths(data: object, path: DocPath = ()) -> Iterator[DocPath]:
    box = untag(data)
    items = (
        box.items() if isinstance(box, dict) else enumerate(box if isinstance(box, list) else ())
    )
    for key, value in items:
        yield (*path, key)
        yield from _paths(value, (*path, key))


def _with(data: object, path: DocPath, new: object, is_key: bool = False) -> object:
    """Return a copy with `new` at `path`, or in the place of its key."""
    if not path:
        return new
    if isinstance(data, Tagged):
        return Tagged(data.tag, _with(data.value, path, new, is_key))
    step, *rest = path
    if isinstance(data, dict):
        if is_key and not rest:
            return {(new if key == step else key): value for key, value in data.items()}
        return {k: _with(v, tuple(rest), new, is_key) if k == step else v for k, v in data.items()}
    assert isinstance(data, list)
    return [_with(v, tuple(rest), new, is_key) if i == step else v for i, v in enumerate(data)]


def faults(case: Case, folder: Path, name: str) -> list[str]:
    """Run a case in a folder, its text in the file `name`; return what is wrong with the run."""
    (folder / name).write_text(case.text, encoding="utf-8")
    process = os.fork()
    if process == 0:
        _run(case.command, folder)
    status, used = _waited(process)
    seconds = used.ru_utime + used.ru_stime
    outputs = [(folder / each).read_bytes().decode(errors="replace") for each in ("out", "err")]
    found = list(_wrong(case.command, os.waitstatus_to_exitcode(status), *outputs))
    if seconds > _SECONDS:
        found.append(f"{seconds:.1f} {_TOO_LONG}")
    if used.ru_maxrss > 1024 * _MEGABYTES:
        found.append(f"{used.ru_maxrss // 1024} MB")
    return found


def _waited(process: int) -> tuple[int, resource.struct_rusage]:
    _, status, used = os.wait4(process, 0)
    return status, used


def _run(command: tuple[str, ...], folder: Path) -> None:
    """Be a process of the command line: its output goes to the files out and err."""
    try:
        os.chdir(folder)
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        signal.alarm(120)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        sys.argv = ["tilewright", *command]
        from tilewright.dse.command.cli import main

        main()
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 9)
    except BaseException as error:
        print("Traceback", repr(error), file=sys.__stderr__)
    os._exit(9)


def _wrong(command: tuple[str, ...], code: int, out: str, err: str) -> Iterator[str]:
    if code not in _CODES:
        yield f"exit code {code}"
    if re.search("internal error|Traceback|defect of Tilewright|Warning:", err + out):
        yield next(line for line in (err + out).splitlines() if line.strip())[:300]
    if code == 2 and not err.strip():
        yield "exit code 2 without a word"
    controls = re.search(r"[^\x20-\x7e\n\u00a0-\ud7ff\ue000-\U0010ffff]", out + err)
    if controls:
        yield f"a control character: {controls[0]!r}"
    if "--json" in command and (out or code == 0):
        try:
            json.loads(out, parse_constant=lambda text: float("nothing " + text))
        except ValueError as error:
            yield f"no JSON: {error}"


def targets() -> dict[str, Target]:
    """Return a file of each kind, with others beside it that it needs."""
    _map = ("map", "--arch", "arch.yaml", "--workload", "workload.yaml", "--budget", "1", "--json")
    _evaluate = ("evaluate", "--arch", "arch.yaml", "--workload", "workload.yaml",
                 "--mapping", "mapping.yaml", "--json")  # fmt: skip
    run = ("study", "run", "study.yaml", "--workers", "1", "--trials", "2", "--json")
    program = ("run", "program.txt", "--machine", "profile.yaml", "--json")
    found = (
        Target("arch", ARCH, (("validate", "arch.yaml", "--json"), _map, _evaluate)),
        Target("workload", WORKLOAD, (("validate", "workload.yaml", "--json"), _map, _evaluate)),
        Target("mapping", MAPPING, (("validate", "mapping.yaml", "--json"), _evaluate)),
        Target("study", STUDY, (("validate", "study.yaml", "--json"), run)),
        Target("table", TABLE, (_evaluate,)),
        Target("profile", PROFILE, (("validate", "profile.yaml", "--json"), program)),
    )
    return {target.kind: target for target in found}


ARCH = """\
arch:
  variables: {width: 8, lanes: 4}
  cost_tables: [table.yaml]
  nodes:
  - !Memory
    name: DRAM
    size: inf
    area: 0
    leak_power: 0.5
    n_parallel_instances: 2
    bits_per_value: {weight: 4, Other: 8}
    tensors: {keep: ~Intermediates, may_keep: All}
    actions:
    - {name: read, energy: 2e-10, throughput: 1e9, bits_per_action: 8}
    - {name: write, energy: 2e-10, energy_scale: 1.5, throughput: 1e9, values_per_action: {Outputs: 4}}
    total_latency: max(a.n_calls / a.throughput for a in actions)
  - !Fork
    nodes:
    - !Compute {name: VEC, area: 0, leak_power: 0, enabled: len(All) == 2, actions: [{name: compute, energy: 1e-12, throughput: 1e9}]}
  - !Toll {name: LINK, direction: {Outputs: up, Other: down}, area: 0, leak_power: 0, tensors: {keep: All}, actions: [{name: read, energy: 1e-12, throughput: 1e9}]}
  - !Memory
    name: BUF
    size: 512 * width
    component_class: sram
    bits_per_action: 8
    tensors:
      keep: input | output
      back: Nothing
      no_refetch_from_above: output
      no_resend_to_below: Nothing
      tensor_order_options: [[input, output]]
      tile_shape: [{expression: input.rank_variables, operator: <=, value: 64}]
    actions: [{name: read}, {name: write}]
  - !Container
    name: PE
    spatial:
    - {name: x, fanout: lanes, may_reuse: input, min_usage: 0.5, loop_bounds: [{expression: ~output.rank_variables, operator: product<=, value: 4}]}
    - {name: y, fanout: 2, reuse: output, usage_scale: 1}
  - !Compute
    name: MAC
    area: 1e-8
    leak_power: 0
    actions: [{name: compute, energy: 1e-13, throughput: 1e9, latency: 0}]
"""  # noqa: E501
PROFILE = (Path(FOLDER) / "generic.yaml").read_text(encoding="utf-8")
TABLE = """\
sram:
  area: 1e-7
  leak_power: 0.001
  actions: {read: {energy: 1e-12, throughput: 1e9}, write: {energy: 1e-12, throughput: 1e9}}
"""
WORKLOAD = """\
renames:
  einsums:
  - name: default
    tensor_accesses:
    - {name: input, source: Inputs & Intermediates if len(All) == 2 else Inputs}
    - {name: output, source: Outputs, expected_count: 1}
    - {name: weight, source: ~(input | output)}
    rank_variables: {reduced: ~Outputs.rank_variables}
workload:
  rank_sizes: {M: 4, K: 6, N: 8, P: 2 * 2}
  iteration_space_shape: {m: 0 <= m < 4}
  bits_per_value: {weight: 4, Other: 8}
  persistent_tensors: weight - Intermediates
  n_instances: 2
  einsums:
  - {einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Z}}
  - name: Y
    tensor_accesses:
    - {name: Z, projection: [m, n]}
    - {name: C, projection: {N: n, P: p}, bits_per_value: 4}
    - {name: Y, projection: [m, p], output: true}
    renames: {input: Z, weight: C, output: Y}
    n_instances: 1
"""
MAPPING = """\
mapping:
  nodes:
  - !Storage {tensors: [A, B, C, Y], component: DRAM}
  - !Temporal {rank_variable: m, tile_shape: 2, initial_tile_shape: 2}
  - !Toll {tensors: [A, B, C, Y], component: LINK}
  - !Storage {tensors: [Z], component: BUF, persistent: false}
  - !Sequential
    nodes:
    - !Nested
      nodes:
      - !Storage {tensors: [A], component: BUF}
      - !Temporal {rank_variable: k, tile_shape: 1}
      - !Spatial {rank_variable: n, tile_shape: 2, component: PE, name: x}
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Compute {einsum: Z, component: MAC}
    - !Nested
      nodes:
      - !Storage {tensors: [Y], component: BUF}
      - !Temporal {rank_variable: n, tile_shape: 1}
      - !Temporal {rank_variable: m, tile_shape: 1}
      - !Temporal {rank_variable: p, tile_shape: 1}
      - !Compute {einsum: Y, component: MAC}
"""
STUDY = """\
name: small
question: Which?
seed: 1
arch: {file: arch.yaml, variables: {lanes: 2}, values: {MAC.area: 1e-8}}
workloads: [{file: workload.yaml, weight: 2, name: w}]
model: analytical
objectives: [{metric: energy, goal: minimize}, latency * area]
constraints: [area <= 1.2 * base.area, {metric: latency, max: 1}]
space:
  arch.BUF.size: {values: [2048, 4 KiB], name: buf}
  arch.variables.lanes: {pow2: [1, 4]}
  workload.rank_sizes.M: {range: [2, 4], step: 2}
search: {sampler: nsga2, trials: 2, batch: 2, population: 2, limit_s: 20, limit_memory: 4e9}
mapper: {objective: edp, front: [energy, latency], budget: 1, max_memory: 1e9, fusion: true, uneven: [], method: exact, seed: 1}
baselines: [{name: first, values: {arch.BUF.size: 2048, arch.variables.lanes: 1, workload.rank_sizes.M: 2}}]
published: [{name: other, metric: energy, value: 1e-9, source: nowhere}]
"""  # noqa: E501
PROGRAM = """\
program pair 1 x 1
color sum
code main
  buffer v f32 [4]
  mem1d all v extent 4
  output_queue 3 sum
  fabout out queue 3 extent 4
  task main entry
    @fmuls out, all, #2.0
place main [0:1, 0:1]
route sum [0:1, 0:1] rx R tx E
edge_output y side E [0:1] color sum f32 count 4
"""


def prepare(folder: Path) -> None:
    """Write the files of all kinds into a folder."""
    for kind, target in targets().items():
        (folder / f"{kind}.yaml").write_text(target.text, encoding="utf-8")
    (folder / "program.txt").write_text(PROGRAM, encoding="utf-8")


def try_all(chosen: list[Case], kind: str) -> Iterator[tuple[Case, list[str]]]:
    """Run cases of one kind; yield those with something wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for case in chosen:
            found = faults(case, folder, f"{kind}.yaml")
            if any(_TOO_LONG in each for each in found):
                # The first run that needs a kernel of the engine compiles it; it is kept.
                found = faults(case, folder, f"{kind}.yaml")
            shutil.rmtree(folder / "runs", ignore_errors=True)
            if found:
                yield case, found


def import_all() -> None:
    """Import all modules, so that no run has to, and none meets a file that is being edited."""
    for module in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
        importlib.import_module(module.name)


def main() -> None:
    """Try some of the cases; print what is wrong with them, and exit with 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append", choices=tuple(targets()))
    parser.add_argument("--count", type=int, help="of each kind; all without it")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--field", default="", help="only fields with this text in their path")
    given = parser.parse_args()
    import_all()
    wrong = 0
    for kind in given.kind or targets():
        chosen = [case for case in cases(targets()[kind]) if given.field in case.field]
        random.Random(given.seed).shuffle(chosen)
        chosen = chosen[: given.count]
        sys.stdout.write(f"{kind}: {len(chosen)} cases\n")
        for case, found in try_all(chosen, kind):
            wrong += 1
            sys.stdout.write(f"{case} -> {'; '.join(found)}\n")
            sys.stdout.flush()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
