"""Inputs: every file counts, names and figures are checked, templates stay where they belong.

The docstring of each test is a row of docs/validation/reliability.md.
"""

from __future__ import annotations

import json

import pytest
from design_files import ARCH, WORKLOAD, run

from tilewright.arch.errors import SpecError
from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.workload.workload_loading import load_workload

TABLE = "Buffer: {{area: 1e-6, leak_power: 0, actions: {{read: {{energy: {0}}}, write: {{energy: {0}}}}}}}\n"  # noqa: E501


def started(folder):
    """A run of which the second batch and what follows are cut off; the whole of its log."""
    done = run("study", "run", "study.yaml", "--workers", 1, "--out", "r")
    assert done.exit_code == 0, done.stderr
    log = folder / "r/trials.jsonl"
    whole = log.read_bytes()
    log.write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    return whole


def test_01_an_included_file_and_a_cost_table_are_inputs(folder):
    """The run copies the files that a template includes, cost tables and a machine profile given by
    path, hashes them, and reads the copies. An edit of an original changes nothing in the run and
    is named in a note at resume; a changed copy is refused."""
    nodes = ARCH.partition("  nodes:\n")[2].replace("  - !", "- !").replace("\n    ", "\n  ")
    (folder / "nodes.yaml").write_text(nodes.replace("energy: 1e-12, ", ""))
    (folder / "table.yaml").write_text(TABLE.format("1e-12"))
    (folder / "arch.yaml").write_text(
        "arch:\n  variables: {Lanes: 4}\n  cost_tables: [table.yaml]\n"
        "  nodes: {{ include('nodes.yaml') }}\n"
    )
    whole = started(folder)
    files = json.loads((folder / "r/env.json").read_text())["files"]
    assert {name.rpartition("/")[2] for name in files} == {
        "arch.yaml", "nodes.yaml", "table.yaml", "work.yaml"
    }  # fmt: skip
    (folder / "table.yaml").write_text(TABLE.format("9e-12"))
    done = run("study", "resume", "r", "--workers", 1)
    assert done.exit_code == 0, done.stderr
    assert (
        "table.yaml has changed since this run began; the run goes on with its copy" in done.stderr
    )
    assert (folder / "r/trials.jsonl").read_bytes() == whole
    (folder / "r/inputs/arch/table.yaml").write_text(TABLE.format("9e-12"))
    done = run("study", "resume", "r", "--workers", 1)
    assert done.exit_code == 2
    assert "inputs/arch/table.yaml: the contents changed" in done.stderr


@pytest.mark.parametrize("sampler", ["nsga2", "tpe"])
def test_02_more_baselines_than_a_batch(folder, sampler):
    """Baselines fill as many batches as they need, with every sampler."""
    study = (
        (folder / "study.yaml")
        .read_text()
        .replace("sampler: grid, batch: 4", f"sampler: {sampler}, batch: 2, trials: 6")
    )
    for number, lanes in enumerate((1, 2, 4, 8, 1)):
        start = "baselines:\n" if number == 0 else ""
        size = 256 if number < 4 else 512
        study += f"{start}- {{name: b{number}, values: {{arch.Buffer.size: {size}, "
        study += f"arch.variables.Lanes: {lanes}}}}}\n"
    (folder / "study.yaml").write_text(study)
    done = run("study", "run", "study.yaml", "--workers", 1, "--json")
    assert done.exit_code == 0, done.stderr
    names = [each["baseline"] for each in json.loads(done.stdout)["baselines"]]
    assert names == ["b0", "b1", "b2", "b3", "b4"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("area: 1e-6", "area: inf", "area must be finite"),
        ("area: 1e-6", "area: 1e-6\n    total_latency: inf", "finite number of seconds"),
        ("area: 1e-6", "area: 1e-6\n    total_latency: -inf", "finite number of seconds"),
        ("leak_power: 0\n    area: 1e-6", "leak_power: inf\n    area: 1e-6", "must be finite"),
        ("energy: 20e-12", "energy: nan", "not a number"),
        ("area: 1e-6", "area: 1e-6\n    enabled: nan", "true or false"),
        ("fanout: Lanes", "fanout: 1e30", "too large"),
    ],
)
def test_07_figures_are_finite(before, after, words):
    """Area, leakage, energy, latency and fanout must be finite, or the file is refused with the
    place of the number. JSON output never holds Infinity or NaN."""
    assert before in ARCH
    arch = load_arch(ARCH.replace(before, after, 1))
    work = load_workload(WORKLOAD)
    with pytest.raises(SpecError, match=words):
        flatten(arch, work.scopes["up"])


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("[256, 512, 1024]", "[256, .nan]", "not finite"),
        ("[256, 512, 1024]", "[256, .inf]", "not finite"),
        ("values: [256, 512, 1024]", "range: [1, .inf]", "not finite"),
        ("values: [256, 512, 1024]", "range: [1, inf]", "not finite"),
        ("values: [256, 512, 1024]", "range: [1, 2], step: .nan", "not finite"),
        ("search:", "constraints: [{metric: area, max: .nan}]\nsearch:", "not finite"),
        ("search:", "constraints: [{metric: area, max: 1, min: 2}]\nsearch:", "max is below min"),
    ],
)
def test_07_and_13_no_study_holds_nan_or_infinity(folder, before, after, words):
    """NaN or infinity as a knob's value, in a range, a step or a constraint is an error with file
    and line, before the first trial; so is a constraint whose max is below its min."""
    path = folder / "study.yaml"
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(SpecError, match=words) as caught:
        load_study(path)
    assert caught.value.where.line


def test_08_templates_read_nothing_private(tmp_path):
    """A template reads any file of its own folder, and only YAML files up to three folders above;
    never a hidden file or one in a hidden folder, and no symbolic link leads it out."""
    inner = tmp_path / "project/models"
    inner.mkdir(parents=True)
    (tmp_path / "project/key.pem").write_text("secret")
    (tmp_path / "project/.hidden.yaml").write_text("secret")
    (tmp_path / "project/shared.yaml").write_text("open")
    (inner / ".netrc").write_text("secret")
    (inner / "notes.txt").write_text("open")
    (inner / "link.txt").symlink_to(tmp_path / "project/key.pem")
    for name in ("../key.pem", "../.hidden.yaml", ".netrc", "link.txt"):
        text = f"a: {{{{ include_text('{name}') }}}}"
        with pytest.raises(SpecError, match="leads out of the folder"):
            load_document(inner / "a.yaml", text=text)
    for name in ("../shared.yaml", "notes.txt"):
        text = f"a: {{{{ include_text('{name}') }}}}"
        assert load_document(inner / "a.yaml", text=text).data == {"a": "open"}


@pytest.mark.parametrize("name", ["Buf/fer", r"Buf\e[31mfer", r"Buf\0fer", r"Buf\nfer", "All", ""])
def test_09_names_of_components(name):
    """Names of components, dimensions, Einsums and tensors have no `/` and no control characters,
    and are none of the reserved words; two dimensions of a component have two names."""
    with pytest.raises(SpecError):
        load_arch(ARCH.replace("name: Buffer", f'name: "{name}"'))


def test_09_names_of_einsums_and_dimensions():
    """An Einsum called `layer1/attn` is refused when its file is read."""
    long = WORKLOAD.replace('- einsum: "up', '- name: layer1/attn\n    einsum: "up')
    with pytest.raises(SpecError, match="name of the Einsum is wrong"):
        load_workload(long)
    dimension = "    - {name: X, fanout: Lanes, may_reuse: input}\n"
    with pytest.raises(SpecError, match="two dimensions are called X"):
        load_arch(ARCH.replace(dimension, dimension * 2))


def test_13_what_was_accepted_in_silence():
    """A bound on rank variables that no Einsum has, an index that leaves its rank, an exponent
    that makes every figure 0, and a hexadecimal number of 5,000 digits are errors."""
    bound = "  iteration_space_shape: {z: 0 <= z < 4}\n  bits_per"
    with pytest.raises(SpecError, match="no Einsum has the rank variables"):
        load_workload(WORKLOAD.replace("  bits_per", bound))
    with pytest.raises(SpecError, match="a number of 5002 characters"):
        load_arch(ARCH.replace("size: 64 * 8", "size: 0x" + "f" * 5000))
    from tilewright.mapper import search

    with pytest.raises(SpecError, match="an exponent is at most 16"):
        search(ARCH, WORKLOAD, objective="energy ** 1e308")


def test_14_a_machine_profile_beside_the_study(folder):
    """`machine: mine.yaml` is looked for beside the study file."""
    from tilewright.simulator.profiles import profile

    text = (profile.FOLDER / "wse2-sdk-sim.yaml").read_text()
    (folder / "mine.yaml").write_text(text)
    path = folder / "study.yaml"
    path.write_text(
        path.read_text().replace("model: analytical", "model: simulated\nmachine: mine.yaml")
    )
    assert load_study(path).machine == str(folder / "mine.yaml")
    path.write_text(path.read_text().replace("mine.yaml", "yours.yaml"))
    with pytest.raises(SpecError, match="no such machine profile"):
        load_study(path)
