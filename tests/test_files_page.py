"""docs/files.md: its YAML runs, and it leaves no field out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec import spec as arch_file
from tilewright.arch.spec.load import load_arch
from tilewright.arch.spec.printing import dump_arch
from tilewright.arch.spec.schema import SpecModel
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping import mapping_file
from tilewright.mapper.mapping.mapping_file import dump_mapping, load_mapping
from tilewright.mapper.workload import workload_file
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.mapper.workload.workload_print import dump_workload

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "files.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
MATMUL = load_workload(
    "workload:\n  rank_sizes: {M: 4, N: 8, K: 6}\n  bits_per_value: {All: 8}\n"
    '  einsums: [{einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {input: A}}]\n'
)


def test_there_is_an_example_of_each_file() -> None:
    tops = [key for block in BLOCKS for key in re.findall(r"^(\w+):", block, re.MULTILINE)]
    assert {"arch", "workload", "mapping", "renames"} <= set(tops)
    assert tops.count("arch") >= 4


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_example_runs(number: int) -> None:
    document = load_document(f"files.md-{number}.yaml", text=BLOCKS[number])
    assert isinstance(document.data, dict)
    workload = MATMUL
    if "workload" in document.data:
        workload = load_workload(document)
        assert load_workload(dump_workload(workload)) == workload
    if "arch" in document.data:
        arch = load_arch(document)
        assert load_arch(dump_arch(arch)) == arch
        for einsum in workload.einsums:
            flats = flatten(arch, workload.scope(einsum))
            assert flats
            for flat in flats:
                for component in flat.components:
                    if hasattr(component, "tensors"):
                        component.tensors.resolve({})
    if "mapping" in document.data:
        mapping = load_mapping(document)
        assert load_mapping(dump_mapping(mapping)) == mapping
        assert evaluate(arch, workload, mapping).actions["Y/MAC/None/compute"] == 512


def models() -> list[type[SpecModel]]:
    values = [v for m in (arch_file, workload_file, mapping_file) for v in vars(m).values()]
    return [v for v in values if isinstance(v, type) and issubclass(v, SpecModel)]


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_no_field_is_left_out(model: type[SpecModel]) -> None:
    text = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text))))
    assert set(model.model_fields) <= words


@pytest.mark.parametrize("tag", [*arch_file.LEAVES, *arch_file.BRANCHES, *mapping_file._TAGS])
def test_no_node_is_left_out(tag: str) -> None:
    assert f"`!{tag}`" in PAGE


def test_the_python_of_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "files.md", "exec"), {})
