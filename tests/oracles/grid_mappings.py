"""Einsums of many forms, and random mappings of them on the shipped grid of elements."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

HARDWARE = Path(__file__).resolve().parents[2] / "studies" / "hardware" / "wafer_grid.yaml"

FORMS: dict[str, str] = {
    "matrix times vector": "Z[m] = A[m, k] * B[k]",
    "vector times matrix": "Z[n] = A[k] * B[k, n]",
    "matrix product": "Z[m, n] = A[m, k] * B[k, n]",
    "product with a transpose": "Z[m, n] = A[m, k] * B[n, k]",
    "both transposed": "Z[m, n] = A[k, m] * B[n, k]",
    "transposed result": "Z[n, m] = A[m, k] * B[k, n]",
    "batched product": "Z[b, m, n] = A[b, m, k] * B[b, k, n]",
    "product with shared weights": "Z[b, m, n] = A[b, m, k] * B[k, n]",
    "grouped product": "Z[m, b, n] = A[m, b, k] * B[b, k, n]",
    "dot product": "Z[] = A[k] * B[k]",
    "inner products": "Z[m] = A[m, k] * B[m, k]",
    "outer product": "Z[m, n] = A[m] * B[n]",
    "scaling of a matrix": "Z[m, n] = A[m, n] * B[u]",
    "elementwise product": "Z[m, n] = A[m, n] * B[m, n]",
    "elementwise sum": "Z[m, n] = A[m, n] + B[m, n]",
    "sum of a matrix and a row": "Z[m, n] = A[m, n] + B[n]",
    "difference": "Z[m, n] = A[m, n] - B[m]",
    "quotient": "Z[m, n] = A[m, n] / (square(B[m]) + 1)",
    "copy": "Z[m, n] = A[m, n]",
    "transpose": "Z[n, m] = A[m, n]",
    "broadcast": "Z[m, n] = A[m]",
    "sum of rows": "Z[m] = A[m, k]",
    "sum of columns": "Z[n] = A[k, n]",
    "sum of all": "Z[u] = A[m, k]",
    "largest of rows": "Z[m] = max(A[m, k])",
    "largest of products": "Z[m] = max(A[m, k] * B[k])",
    "negative": "Z[m, n] = -A[m, n]",
    "rectifier": "Z[m, n] = relu(A[m, n])",
    "larger of two": "Z[m, n] = max(A[m, n], B[m, n])",
    "square": "Z[m, n] = square(A[m, n])",
    "sum of squares": "Z[m] = sum(square(A[m, k]))",
    "root": "Z[m] = sqrt(square(A[m]) + 1)",
    "exponential": "Z[m, n] = exp(A[m, n] - B[m])",
    "logarithm": "Z[m] = log(square(A[m]) + 1)",
    "gate": "Z[m, n] = A[m, n] * sigmoid(B[m, n])",
    "hyperbolic tangent": "Z[m, n] = tanh(A[m, n])",
    "sum of exponentials": "Z[m] = sum(exp(A[m, k]))",
    "distance": "Z[m, n] = sum(square(A[m, k] - B[n, k]))",
    "three factors": "Z[m, n] = A[m, k] * B[k, n] * C[m]",
    "three summands": "Z[m, n] = A[m, n] + B[m] + C[n]",
    "three matrices": "Z[m, n] = A[m, k] * B[k, l] * C[l, n]",
    "linear layer": "Z[m, n] = sum(relu(A[m, k]) * B[k, n])",
    "diagonal": "Z[m] = A[m, m] * B[m]",
    "trace": "Z[u] = A[m, m]",
    "convolution": "Z[p] = A[p + r] * B[r]",
    "correlation with channels": "Z[n, p] = A[c, p + r] * B[n, c, r]",
    "strided convolution": "Z[n, p] = A[c, 2*p + r] * B[n, c, r]",
    "dilated convolution": "Z[p] = A[p + 2*r] * B[r]",
    "depthwise convolution": "Z[c, p] = A[c, p + r] * B[c, r]",
    "convolution in two dimensions": "Z[p, q] = A[p + r, q + s] * B[r, s]",
    "convolution of images": "Z[n, p, q] = A[c, p + r, q + s] * B[n, c, r, s]",
    "strided read": "Z[m] = A[3*m + 1]",
    "strided write": "Z[2*m] = A[m] * B[m]",
    "average pooling": "Z[c, p] = A[c, 2*p + r]",
    "largest in windows": "Z[c, p] = max(A[c, 2*p + r])",
}
"""Name and Einsum; the ranks of a variable v are as long as SIZES says."""
REPEATED: dict[str, str] = {
    "product with itself": "Z[m, n] = A[m, k] * A[M: n, k]",
    "outer product with itself": "Z[m, n] = A[m] * A[n]",
    "distances among rows": "Z[m, n] = sum(square(A[m, k] - A[M: n, k]))",
    "sum of neighbours": "Z[p] = A[P: p] + A[P: p + 1]",
    "second difference": "Z[p] = A[P: p] - 2 * A[P: p + 1] + A[P: p + 2]",
    "difference of neighbours": "Z[p, m] = A[P: p, M: 0] - A[P: p + 1, m]",
    "larger neighbour": "Z[p] = max(A[P: p], A[P: p + 1])",
    "weighted neighbours": "Z[p] = A[P: p] * B[p] + A[P: p + 1]",
    "sum with its transpose": "Z[m, n] = A[M: m, N: n] + A[M: n, N: m]",
    "transpose in another order of ranks": "Z[m, n] = A[M: m, N: n] - A[N: m, M: n]",
    "autocorrelation": "Z[r] = A[P: p] * A[P: p + r]",
    "weights read twice": "Z[m, k] = A[k] * B[M: m, k] * B[M: m + 1, k]",
    "sampled twice": "Z[p] = A[P: 2*p] * A[P: 3*p + 1]",
}
"""Einsums that read a tensor with different indices."""
SIZES = {"m": 8, "k": 12, "n": 6, "b": 4, "l": 4, "p": 8, "q": 6, "r": 3, "s": 2, "c": 4, "u": 1}
RESIDENT_GEMV = """
workload:
  rank_sizes: {M: 24, K: 90}
  bits_per_value: {All: 32}
  persistent_tensors: A
  einsums:
  - "Y[m] = A[m, k] * X[k]"
"""
"""A matrix in the elements times a vector."""
LINE_SCHEMES = ("", "chain", "tree", "two_phase", "two_phase(2)", "auto", "auto(9,20,3)")
SCHEMES = (*LINE_SCHEMES, *(f"y_first({s})" for s in LINE_SCHEMES if s), "snake")


@cache
def einsum_workload(form: str, bits: int = 32) -> Workload:
    """The workload of one form; the tensor B, if there is one, is persistent."""
    return load_workload(load_document(f"{form}.yaml", text=workload_text(form, bits)))


@cache
def typed_workload(form: str, inputs: str, output: str) -> Workload:
    """The workload of one form with values of some number types."""
    widths = {"f32": 32, "i32": 32, "f16": 16, "i16": 16}
    text = workload_text(form).replace(
        "{All: 32}", f"{{All - Outputs: {widths[inputs]}, Outputs: {widths[output]}}}"
    )
    if output.startswith("i"):
        text = text.replace("  persistent_tensors", "  integers: All\n  persistent_tensors")
    return load_workload(load_document(f"{form}.yaml", text=text))


def workload_text(form: str, bits: int = 32) -> str:
    """The file of a form's workload."""
    text = REPEATED.get(form) or _with_ranks(FORMS[form])
    indices = "".join(re.findall(r"\[([^]]*)\]", text))
    variables = sorted({letter for letter in indices if letter in SIZES})
    spaces = "\n".join(f"    {name}: 0 <= {name} < {SIZES[name]}" for name in variables)
    persistent = "B" if "B" in text else "Nothing"
    renames = "{output: Z, input: A, weight: " + persistent + "}"
    return (
        f"workload:\n  bits_per_value: {{All: {bits}}}\n  persistent_tensors: {persistent}\n"
        f"  iteration_space_shape:\n{spaces}\n  einsums:\n"
        f'  - {{einsum: "{text}", renames: {renames}}}\n'
    )


def _with_ranks(text: str) -> str:
    """Name the ranks whose index is no single variable, or one that stands twice."""

    def named(match: re.Match[str]) -> str:
        indices = [index.strip() for index in match[2].split(",")]
        ranks = [
            index if index in SIZES and indices.count(index) == 1 else f"{match[1]}{n}: {index}"
            for n, index in enumerate(indices)
        ]
        return f"{match[1]}[{', '.join(ranks)}]"

    return re.sub(r"([A-Z])\[([^]]+)\]", named, text)


def einsum_on_grid(
    einsum: str,
    sizes: dict[str, int],
    grid: tuple[int, int],
    persistent: str = "Nothing",
    bits: int = 32,
) -> tuple[FlatArch, Einsum]:
    """The path of components to the compute of a grid, and an Einsum of f32, or of 16 bits.

    `grid`: columns and rows; `persistent`: the tensors that may be in the elements before the run.
    """
    ranks = ", ".join(f"{name}: {size}" for name, size in sizes.items())
    text = (
        f"workload:\n  rank_sizes: {{{ranks}}}\n  bits_per_value: {{All: {bits}}}\n"
        f'  persistent_tensors: {persistent}\n  einsums: ["{einsum}"]\n'
    )
    workload = load_workload(load_document("einsum.yaml", text=text))
    arch = load_arch(HARDWARE, variables={"GridX": grid[0], "GridY": grid[1]})
    (only,) = workload.einsums
    return flatten(arch, workload.scope(only.name))[0], only


@cache
def grid_arch(form: str, bits: int, columns: int, rows: int) -> FlatArch:
    """The shipped grid of elements in some size, for the Einsum of a form."""
    workload = einsum_workload(form, bits)
    arch = load_arch(HARDWARE).with_values({"variables.GridX": columns, "variables.GridY": rows})
    return flatten(arch, workload.scope(workload.einsums[0].name))[0]


def random_space_time(
    seed: int, columns: int = 4, rows: int = 4, forms: Iterable[str] = FORMS
) -> tuple[str, SpaceTime]:
    """A random form with a random mapping; raises InfeasibleMapping if that is not on the grid."""
    rng = random.Random(seed)
    form = rng.choice(list(forms))
    bits = rng.choice([32, 32, 32, 16])
    einsum = einsum_workload(form, bits).einsums[0]
    flat = grid_arch(form, bits, columns, rows)
    return form, space_time(flat, einsum, random_mapping(rng, einsum))


def random_mapping(rng: random.Random, einsum: Einsum, most: int = 4) -> Mapping:
    """A random nest of loops and Storages of an Einsum, most often one of a grid's mapspace."""
    tile = dict(einsum.bounds)
    spatial = [
        Spatial(name, _divided(rng, tile, name, most), axis, "Grid")
        for axis in "XY"
        for name in rng.sample(list(tile), k=min(len(tile), rng.choice([0, 1, 1, 2])))
    ]
    output = einsum.outputs[0]
    if rng.random() < 0.8:  # neighbours add up
        spatial = _shares(rng, einsum, most, output.rank_variables)
        tile = dict(einsum.bounds)
        for node in spatial:
            tile[node.rank_variable] = node.tile_shape
    resident = {a.tensor for a in einsum.inputs if a.persistent and rng.random() < 0.6}
    if rng.random() < 0.1:
        resident.add(output.tensor)
    outside = tuple(name for name in einsum.tensors if name not in resident)
    nodes: list[Node] = [Storage(outside, "Host")] if outside else []
    return Mapping((*nodes, *spatial, *_in_time(rng, einsum, tile, resident)))


def _divided(rng: random.Random, tile: dict[str, int], name: str, most: int) -> int:
    counts = [c for c in range(1, most + 1) if tile[name] % c == 0]
    if rng.random() < 0.15:  # a last share that is shorter, or no share at all
        counts = list(range(1, min(most, tile[name]) + 1))
    tile[name] = -(-tile[name] // rng.choice(counts))
    return tile[name]


def _shares(rng: random.Random, einsum: Einsum, most: int, kept: frozenset[str]) -> list[Spatial]:
    tile, nodes = dict(einsum.bounds), []
    for axis in "XY":
        names = rng.sample(list(tile), k=min(len(tile), rng.choice([0, 1, 1, 1, 2])))
        names.sort(key=lambda name: name not in kept)
        free = most
        for name in names:
            before = tile[name]
            nodes.append(Spatial(name, _divided(rng, tile, name, free), axis, "Grid"))
            free //= -(-before // tile[name])
    return nodes


def _in_time(
    rng: random.Random, einsum: Einsum, tile: dict[str, int], resident: set[str]
) -> list[Node]:
    output = einsum.outputs[0].tensor
    scheme = rng.choice(SCHEMES)
    steps = rng.choice([0, 1, 1, 2])
    double = steps == 1 and rng.random() < 0.6
    waiting = list(einsum.tensors)
    nodes: list[Node] = []

    def store(names: list[str], buffers: int = 1) -> None:
        for name in names:
            waiting.remove(name)
            added = scheme if name == output else ""
            nodes.append(Storage((name,), "SRAM", buffers=buffers, reduction=added))

    kept = einsum.outputs[0].rank_variables
    for _ in range(steps):
        loop = rng.choice(list(tile))
        above = [
            name
            for name in waiting
            if name in resident
            or (name == output and loop not in kept)
            or rng.random() < (0.8 if loop not in einsum.access(name).rank_variables else 0.2)
        ]
        store(above)
        nodes.append(Temporal(loop, _divided(rng, tile, loop, tile[loop])))
    store(list(waiting), 2 if double else 1)
    return [*nodes, *random_kernel(rng, einsum, tile, kept)]


def random_kernel(
    rng: random.Random, einsum: Einsum, tile: dict[str, int], kept: frozenset[str]
) -> list[Node]:
    scalar = None
    if len(einsum.inputs) == 2 and rng.random() < 0.7:
        scalar = rng.choice(einsum.inputs)
    below = [
        name
        for name in tile
        if scalar is not None and name in kept and name not in scalar.rank_variables
    ]
    loops = [name for name in tile if name not in below]
    rng.shuffle(loops)
    nodes: list[Node] = [Temporal(name, 1) for name in loops if tile[name] > 1]
    if scalar is not None:
        nodes.append(Storage((scalar.tensor,), "Scalar"))
    nodes += [Temporal(name, 1) for name in below if tile[name] > 1]
    return [*nodes, ComputeNode(einsum.name, "Engine")]


EXAMPLE = "matrix product"  # Z[m, n] = A[m, k] * B[k, n], 8 x 12 x 6
HOST = Storage(("A", "Z"), "Host")
OVER_K = Spatial("k", 3, "X", "Grid")
OVER_N = Spatial("n", 3, "Y", "Grid")
WHOLE = Storage(("B",), "SRAM")
LOOP = Temporal("m", 2)
TILES = Storage(("A", "Z"), "SRAM", buffers=2)
WORK = (Temporal("m", 1), Temporal("k", 1), Storage(("A",), "Scalar"), Temporal("n", 1))
END = ComputeNode("Z", "Engine")


def read(nodes: Sequence[Node], bits: int = 32) -> SpaceTime:
    """A mapping of the example on a grid of 4 x 2 elements."""
    einsum = einsum_workload(EXAMPLE, bits).einsums[0]
    return space_time(grid_arch(EXAMPLE, bits, 4, 2), einsum, Mapping(tuple(nodes)))
