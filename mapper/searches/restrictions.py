"""The named restrictions of a search: a certificate holds among the mappings that meet them.

"Optimal in energy; restrictions: perfect factors; Einsum order fixed" says that no mapping which
meets both restrictions has less energy. Each kind has a name of at most 12 words, an explanation
and an example; docs/restrictions.md lists them all, and is generated from this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

MAX_LISTED = 3  # names that a restriction spells out; of more it names the first two

Mappings = Literal["fused", "unfused"]


@dataclass(frozen=True, slots=True)
class RestrictionKind:
    """A kind of restriction: a condition that all mappings of a search meet.

    A certificate ("optimal") holds among the mappings that meet it. `pattern`: its name, with
    parameters in braces. `explanation`, `example`: sentences for docs/restrictions.md.
    `concerns_fusion`: every mapping without fusion meets it anyway.
    """

    pattern: str
    explanation: str
    example: str
    concerns_fusion: bool = False

    def __call__(self, **parameters: Iterable[str] | str | int) -> Restriction:
        """Return the restriction with these parameters, each a name or several."""
        return Restriction(self, tuple((key, _names(v)) for key, v in parameters.items()))


@dataclass(frozen=True, slots=True)
class Restriction:
    """A restriction of a search, with its parameters.

    `kind`: pattern and explanation. `parameters`: pairs (name in the pattern, values). `only_for`:
    "fused" or "unfused" if only such mappings must meet it, None if all must.
    """

    kind: RestrictionKind
    parameters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    only_for: Mappings | None = None

    @property
    def name(self) -> str:
        """The restriction as printed, for example "fusion through GlobalBuffer".

        With "if fused: " or "if unfused: " in front if only such mappings must meet it.
        """
        parameters = {key: _listed(names) for key, names in self.parameters}
        text = self.kind.pattern.format(**parameters)
        return text if self.only_for is None else f"if {self.only_for}: {text}"

    def __str__(self) -> str:
        return self.name


Restrictions = tuple[Restriction, ...]


def names_of(restrictions: Iterable[Restriction]) -> list[str]:
    """Return the names of restrictions (conditions on the searched mappings), as printed."""
    return [restriction.name for restriction in restrictions]


def scope_text(restrictions: Sequence[Restriction]) -> str:
    """Return the names of restrictions in one text, or "all mappings" if there are none."""
    return "; ".join(names_of(restrictions)) or "all mappings"


def with_restrictions(claim: str, restrictions: Sequence[Restriction]) -> str:
    """Return a claim, such as "optimal in energy", with the restrictions under which it holds."""
    if not restrictions:
        return f"{claim}, without restriction"
    return f"{claim}; restrictions: {scope_text(restrictions)}"


def only_for(mappings: Mappings, restriction: Restriction) -> Restriction:
    """Return a restriction that only fused, or only unfused, mappings must meet."""
    return replace(restriction, only_for=mappings)


def _names(value: Iterable[str] | str | int) -> tuple[str, ...]:
    return (str(value),) if isinstance(value, str | int) else tuple(value)


def _listed(names: Sequence[str]) -> str:
    """Return names joined by commas; of a long list the first two and how many more there are."""
    if len(names) <= MAX_LISTED:
        return ", ".join(names)
    return f"{', '.join(names[:2])}, +{len(names) - 2} more"


PERFECT_FACTORS = RestrictionKind(
    "perfect factors",
    "The tile of each loop divides the tile above it, so that all tiles of a loop have one size."
    " The restriction is left out if no rank variable has more than 2 values: then every tile"
    " divides.",
    "A loop over 12 values has tiles of 1, 2, 3, 4, 6 or 12 values, but not of 5.",
)
ONE_IMPERFECT_LOOP = RestrictionKind(
    "one imperfect loop each over {variables}",
    "Each of these rank variables has at most one loop whose last tile is smaller than the others;"
    " all other loops have perfect factors. The option `uneven` names the variables.",
    "12 = 5 + 5 + 2 in one loop over m, and perfect factors below it; two such loops over m are not"
    " searched.",
)
STANDALONE_IMPERFECT = RestrictionKind(
    "imperfect factors only in standalone Einsums",
    "An Einsum of a fused mapping has an imperfect loop only if it shares no loop, exchanges its"
    " tensors through the outermost memory, and no tensor of another Einsum is on chip while it"
    " runs; other Einsums have perfect factors.",
    "Of three Einsums, the first two share a loop and have perfect factors; the third runs alone"
    " and may have tiles of 5 of 12 values.",
    concerns_fusion=True,
)
ADJACENT_SPATIAL_LOOPS = RestrictionKind(
    "spatial loops adjacent to their fanout",
    "The spatial loops of a fanout stand right above the components that the fanout feeds, below"
    " all holders of outer memories. Written lower, they might let a tile shrink.",
    "With MainMemory, GlobalBuffer and a fanout of 4 Computes, the spatial loops of the fanout"
    " stand below the Storage nodes of GlobalBuffer.",
)
ACCELFORGE_NETWORK_ORDER = RestrictionKind(
    "spatial loops behind Networks in AccelForge's order",
    "Below a Network the spatial loops of one fanout stand in the order in which AccelForge writes"
    " them; the order decides which links carry which values (docs/conventions.md).",
    "Of the dimensions X and Y of one fanout behind a Network, the last in the file is outermost.",
)
FILE_NETWORK_ORDER = RestrictionKind(
    "spatial loops in the order of the file",
    "With a Network on the path, the spatial loops of one fanout stand in the order of the"
    " dimensions in the architecture file, and those of one dimension in the order of the Einsum's"
    " rank variables; the order decides which links carry which values.",
    "Of the dimensions X and Y of one fanout behind a Network, X, the first in the file, is"
    " outermost.",
)
BACKED_IN_OUTERMOST = RestrictionKind(
    "no fusion: {tensors} kept in {memory}",
    "One Einsum of a workload is searched alone: the tensors that it shares with other Einsums are"
    " kept whole in the outermost memory, and it shares no loop.",
    "Of Y = A B and Z = Y C, Einsum Z alone reads Y from MainMemory.",
)
UNFUSED = RestrictionKind(
    "no fusion: shared tensors kept whole in {memory}",
    "Each Einsum is mapped alone: every tensor that Einsums share is kept whole in the outermost"
    " memory, and they share no loop.",
    "Y is written to MainMemory by the first Einsum, and read from there by the second.",
)
EXCHANGE_THROUGH_OUTERMOST = RestrictionKind(
    "no fusion: tensors exchanged through {memory}",
    "No memory below the outermost one can pass a tensor from Einsum to Einsum, so that they"
    " exchange all tensors through the outermost memory.",
    "The only memory between MainMemory and the Compute may not keep Y.",
)
EINSUM_ORDER_FIXED = RestrictionKind(
    "Einsum order fixed",
    "The Einsums run one after the other in the order of the workload file; another order may keep"
    " less on chip.",
    "Q, K and V are computed in this order, although V could come first.",
    concerns_fusion=True,
)
FUSION_THROUGH = RestrictionKind(
    "fusion through {memories}",
    "A tensor that Einsums exchange is backed in the outermost memory, or in one of these memories;"
    " no mapping exchanges it in another memory.",
    "Y is written to MainMemory, or its tiles pass from Einsum to Einsum in GlobalBuffer; exchange"
    " in the registers is not searched.",
    concerns_fusion=True,
)
SHARED_LOOPS_PER_VARIABLE = RestrictionKind(
    "shared loops per rank variable: at most {number}",
    "Einsums share at most so many temporal loops over one rank variable"
    " (`max_fused_loops_per_rank_variable`).",
    "Two Einsums share one loop over m with tiles of 16; two loops, of 64 and of 16, are not"
    " searched.",
    concerns_fusion=True,
)
SHARED_LOOP_VARIABLES = RestrictionKind(
    "shared loops over rank variables of all sharing Einsums",
    "Einsums share a loop only over a rank variable that is one variable to all of them, by the"
    " tensors that they exchange.",
    "Y[m, n] and Z[m, p] may share a loop over m; a loop over n, which Z lacks, is not shared.",
    concerns_fusion=True,
)
SHARED_LOOPS_ABOVE_EXCHANGED = RestrictionKind(
    "shared loops relevant to, and above, tensors exchanged on chip",
    "Shared temporal loops stand above the lowest tensor that the Einsums exchange on chip, and"
    " each is relevant to all tensors that they exchange there.",
    "Two Einsums that exchange Y[m, n] in GlobalBuffer share loops over m and n above the Storage"
    " of Y, and no loop below it.",
    concerns_fusion=True,
)
SHARED_SPATIAL_LOOPS = RestrictionKind(
    "shared spatial loops only above {memories}",
    "Einsums share spatial loops only above the memory in which they exchange tensors, and over"
    " the rank variables over which they may share temporal loops.",
    "Four GlobalBuffers, each with its part of m, hold the tiles of Y for both Einsums.",
    concerns_fusion=True,
)
NOT_EXCHANGED_IN = RestrictionKind(
    "{tensor} not exchanged in {memories}",
    "This tensor is exchanged in some of the memories of `fusion through` only.",
    "Fusion goes through L2 and L1; Y, which three Einsums use, is exchanged in L2 only.",
    concerns_fusion=True,
)
ADJACENT_HOLDERS_ORDER = RestrictionKind(
    "adjacent holders in hierarchy order",
    "Holders without a loop between them count in the order of the memory hierarchy.",
    "Storage nodes of L1 and L2 without a loop between them count as L2 above L1.",
)
EXCHANGED_IN_OUTERMOST = RestrictionKind(
    "{tensors} exchanged only in {memory}",
    "These tensors are shared by Einsums, but always through the outermost memory.",
    "A weight that two Einsums read stays in MainMemory, while Y is exchanged in GlobalBuffer.",
    concerns_fusion=True,
)
ORDER_ABOVE_EXCHANGED = RestrictionKind(
    "{memories} in hierarchy order above exchanged tensors",
    "These memories may leave the order of the hierarchy (`force_memory_hierarchy_order: false`),"
    " but above tensors exchanged on chip only mappings in that order are searched.",
    "L1 may hold A above the tile of A in L2, but not above the exchanged tile of Y.",
    concerns_fusion=True,
)
NO_HOLDER_BELOW_DEEPER_LANES = RestrictionKind(
    "no holder below lanes of a deeper level",
    "No holder stands below spatial loops of a component that is deeper in the architecture than"
    " the holder's memory.",
    "A Storage of GlobalBuffer below the spatial loops of the Computes is not searched.",
)
COPIES_SHARE_NO_LOOPS = RestrictionKind(
    "copies {einsums} share no loops",
    "These copy Einsums share no loop with other Einsums.",
    "K_new = K copies K from and to MainMemory in loops of its own.",
    concerns_fusion=True,
)
COPIES_PRIVATE_BELOW_LOOPS = RestrictionKind(
    "unexchanged tensors of copies {einsums} below shared loops",
    "These copy Einsums hold the tensors that they do not exchange on chip below the loops that"
    " they share.",
    "I = A copies A on chip: the tile of A is held below the loop over m that I shares.",
    concerns_fusion=True,
)
COPIES_SHARE_NO_LANES = RestrictionKind(
    "copies {einsums} share no lanes above {memory}",
    "These copy Einsums share no spatial loop above that memory with other Einsums.",
    "Two Einsums spread m over four GlobalBuffers; the copy between them does not.",
    concerns_fusion=True,
)
COPY_INPUTS_RESERVED = RestrictionKind(
    "inputs of copies reserved until the copy runs",
    "A tensor that a copy Einsum reads on chip keeps its bits reserved there until the copy runs,"
    " though an alias might free them.",
    "I = A: GlobalBuffer holds the tile of A and the tile of I at a time.",
    concerns_fusion=True,
)
LARGEST_TILE_RESERVED = RestrictionKind(
    "{tensors} reserved at their users' largest tile",
    "Einsums that hold one of these tensors in one place reserve the bits of the largest tile that"
    " one of them needs, all the time.",
    "A convolution needs 18 rows of Y and a pointwise Einsum 16: both reserve 18.",
    concerns_fusion=True,
)
WIDEST_TILE_RESERVED = RestrictionKind(
    "{tensors} reserved at their greatest bit width",
    "Einsums see these tensors in several bit widths; a tile reserves the widest from the first"
    " Einsum until the Einsum that needs it.",
    "Y has 8 bits for its producer and 16 for its second reader: its tile reserves 16 bits per"
    " value before that.",
    concerns_fusion=True,
)
PARTITIONED_ALIKE = RestrictionKind(
    "outermost memory partitioned alike for all Einsums",
    "Lanes above the outermost memory split the tensors over its instances in the same way for all"
    " Einsums.",
    "With 2 DRAMs, all Einsums split m in two, or all split n; none splits m for one Einsum and n"
    " for another.",
)
LEAST_WORK_SHARES = RestrictionKind(
    "shares of least work",
    "On a grid of elements each element has the fewest points that are possible, or by one rank"
    " variable along each axis less than 9/8 of these; where rules of the architecture leave no"
    " mapping among these, the 256 divisions with the fewest points are searched. Other divisions"
    " may need less energy or shorter ways. The search of one Einsum looks at these, too, and this"
    " line stands only where they are too many, or the time is over. Of several Einsums those look"
    " at them that exchange nothing in the elements; for energy the others may also leave an"
    " element the fewest points on half of the elements, on a quarter, and so on down to one.",
    "64 rows and 48 columns on 16 x 16 elements: their maximum by rows takes 264 cycles if each"
    " element has 12 points, 236 if 128 elements have 24.",
)
SHARED_VARIABLES = RestrictionKind(
    "at most two rank variables along an axis",
    "On a grid of elements no more than two rank variables are divided along an axis, those that"
    " are summed over inside the others.",
    "16 columns share m in 4 and n in 4, or m in 8 and k in 2; not m, n and k in 4, 2 and 2.",
)
LOOPS_ABOVE_TILES = RestrictionKind(
    "loops in time above tiles: at most {number}",
    "On a grid of elements an element takes its share at once, or in tiles that divide it, in the"
    " turns of one loop in time; of two where no tiles of one loop fit an element.",
    "A share of 12 columns comes whole or in tiles of 6, 4, 3, 2 or 1 columns, not in tiles of 5.",
)
DENSE_TILES = RestrictionKind(
    "tiles without gaps",
    "On a grid of elements the values of a tile lie one behind the other, and no share is longer"
    " than it must be. Rows whose length is no multiple of the memory's banks begin on all banks in"
    " turn, so that two operands meet on a bank more often. Rows with gaps between them, or longer"
    " shares, are not searched; a workload with larger sizes has them.",
    "A product of 197 x 197 values, 64 deep, in f16 takes 82,090 cycles on 4 x 4 elements, one of"
    " 200 x 200 values 49,922.",
)
TILE_LOOP_ORDER = RestrictionKind(
    "loops on a tile in the order of least work",
    "On a grid of elements the work on a tile has one loop over each rank variable, and these stand"
    " in the order, around the vector operation and in it, in which the instructions of an element"
    " take the fewest cycles, waiting left out; where energy counts, also in those that take fewer"
    " values into the register. An order with more work is no faster where streams do not contend"
    " for links; elsewhere none is known that is. An input stands in the register if that leaves"
    " the vector operation a loop, or if none does so.",
    "With A in the register, Z[m, n] = A[m, k] * B[k, n] has vectors along n, and a loop over k"
    " around a map over m if m is longer; a loop over m around a map over k takes more cycles.",
)
LISTED_REDUCTIONS = RestrictionKind(
    "listed reduction schemes",
    "Elements of a grid add up partial sums by chains, trees, two phases with two sizes of groups,"
    " a tree that is made for the machine, each along X or along Y first, by a snake or a ring.",
    "Of the groups of two phases along 16 elements two sizes are tried.",
)
ALIGNED_SIZES = RestrictionKind(
    "sizes with room for alignment",
    "A front of several Einsums on the machine over the memory of an element counts up to 16 bytes"
    " more for each tile where tensors stay in the elements between Einsums, or weights do: its"
    " first word is chosen by memory bank. A mapping that fits a smaller memory only without these"
    " bytes is not searched.",
    "A mapping of 1,040 bytes may be missing below one of 1,056 bytes.",
)
IN_SEQUENCE = RestrictionKind(
    "Einsums in sequence",
    "On a grid of elements an Einsum begins when the one before it in the file has ended. A"
    " Pipeline is executed, but not searched.",
    "Z = relu(H) begins when all elements have the whole of H.",
)

KINDS: tuple[RestrictionKind, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, RestrictionKind)
)
