"""One Einsum on one architecture, with constraints that can be lifted one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

from tilewright.arch.components.components import Component, Compute, Memory
from tilewright.arch.errors import TilewrightError, Where
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.explain.constraint import Edit, MappingConstraint, Steps, constraints_of
from tilewright.mapper.explain.existence import Existence, FoundMapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import UnsupportedFeature
from tilewright.mapper.workload.workload import Workload

WORK = 3e9  # states times templates looked at: some ten seconds
Active = frozenset[MappingConstraint]
_PLACING = ("keep", "may_keep", "back")


class TooLarge(Exception):  # noqa: N818 - control flow inside this package
    """The work or the time allowed for an explanation is used up.

    A signal inside this package, caught where an answer can be given without the question that was
    too large.
    """


@dataclass
class ConstrainedEinsum:
    """One Einsum on one architecture, whose constraints can be removed one by one.

    It answers whether mappings exist under a set of constraints. `backed`: tensors that the
    outermost memory must keep. `uneven`: rank variables whose tiles need not divide their bound.
    `exchanged`: tensors shared with other Einsums that may be held first in any memory: rules about
    that count as waived. `budget`: limit of time. `spent`: tile shapes looked at so far; a question
    that exceeds WORK, or outlasts the budget, raises TooLarge. `ended`: the budget is over. `cut`:
    some question was ended so. min_usage counts as no constraint, because it gives way where no
    mapping reaches it.
    """

    arch: Arch
    workload: Workload
    einsum: Einsum
    conventions: str = "default"
    backed: frozenset[str] = frozenset()
    uneven: frozenset[str] = frozenset()  # rank variables
    exchanged: frozenset[str] = frozenset()  # tensors that may be held first anywhere
    budget: Budget = UNLIMITED
    spent: float = 0.0
    ended: bool = False  # by the budget
    cut: bool = False
    _known: dict[Active, bool] = field(default_factory=dict, repr=False)
    _flats: dict[frozenset[str], tuple[FlatArch, ...]] = field(default_factory=dict, repr=False)
    _existence: Existence = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._existence = Existence(self.check)

    @cached_property
    def constraints(self) -> tuple[MappingConstraint, ...]:
        """All constraints on mappings of the Einsum, in file order, without min_usage.

        A component that is disabled for the Einsum counts as one constraint, and so does each
        tensor that Einsums mapped one by one must exchange through the outermost memory.
        """
        return tuple(c for c in self._collected() if not self._waived(c))

    def _waived(self, constraint: MappingConstraint) -> bool:
        """Tell whether fusion may waive a constraint on an exchanged tensor's first holder.

        A memory that keeps the tensor in any case is not waived: fused or not, a tile is there. The
        outermost memory may then hold less, so its size is waived.
        """
        if constraint.kind == "size" and self.exchanged:
            return constraint.component in self._outermost
        if constraint.tensor not in self.exchanged or constraint.kind not in _PLACING:
            return False
        return constraint.kind != "keep" or constraint.component not in self._keepers

    @cached_property
    def _memories(self) -> list[list[Memory]]:
        """The memories on the path to each Compute, outermost first."""
        return [
            [c for c in flat.components if isinstance(c, Memory)]
            for flat in self.flats(frozenset())
        ]

    @cached_property
    def _outermost(self) -> frozenset[str]:
        return frozenset(memories[0].name for memories in self._memories)

    @cached_property
    def _keepers(self) -> frozenset[str]:
        """Memories below the outermost one whose rules depend on no other memory, on every path.

        The rules of a memory with tensor_order_options depend on others.
        """
        ordered = {c.component for c in self._collected() if c.kind == "tensor_order_options"}
        independent = []
        for memories in self._memories:
            names = {memory.name for memory in memories} | {"Above"}
            independent.append({c.name for c in memories[1:] if not c.tensors.names & names})
        return frozenset(set.intersection(*independent) - ordered) if independent else frozenset()

    @cached_property
    def constraints_with_min_usage(self) -> tuple[MappingConstraint, ...]:
        """All constraints on mappings of the Einsum and each min_usage, in file order."""
        return tuple(self._collected(min_usage=True))

    def _collected(self, min_usage: bool = False) -> Iterator[MappingConstraint]:
        seen: set[str] = set()
        disabled = self._disabled()
        for flat in self.flats(frozenset()):
            for component in flat.components:
                if component.name not in seen:
                    seen.add(component.name)
                    yield from constraints_of(component, self.einsum, self.locate, min_usage)
        for name in disabled:
            text = f"{name} is disabled for {self.einsum.name}"
            place = self.locate(name, ("enabled",))
            yield MappingConstraint("enabled", name, ("enabled",), "", text, place)
        for tensor in (t for t in self.einsum.tensors if t in self.backed):
            text = f"mapped one by one, Einsums exchange {tensor} through the outermost memory"
            yield MappingConstraint("unfused", "", (), tensor, text)

    def _disabled(self) -> list[str]:
        """Return the components that their `enabled` rule removes from the Einsum's paths.

        If no path is left, the Computes with such a rule.
        """
        leaves = self.arch.leaves()
        flats = self.flats(frozenset())
        if flats:
            disabled = frozenset[str]().union(*(flat.disabled for flat in flats))
            return [leaf.name for leaf in leaves if leaf.name in disabled]
        switchable = [
            leaf.name for leaf in leaves if getattr(leaf.spec, "enabled", True) is not True
        ]
        computes = {flat.compute.name for flat in self.flats(frozenset(switchable))}
        return [name for name in switchable if name in computes]

    def locate(self, component: str, steps: Steps) -> Where | None:
        """Return where in its file a field of a component is written; None if it is not.

        `steps`: path of the field inside the component, such as ("spatial", 0, "fanout").
        """
        return self.arch.where(self.arch.node(component), *steps)

    def flats(self, enabled: frozenset[str]) -> tuple[FlatArch, ...]:
        """Return the paths of components from the root to each compute that may perform the Einsum.

        `enabled`: names of components that count as enabled, whatever the file says.
        """
        if enabled not in self._flats:
            changes = {f"{name}.enabled": True for name in sorted(enabled)}
            arch = self.arch.with_values(changes) if changes else self.arch
            scope = self.workload.scope(self.einsum)
            switch = conventions_called(self.conventions).switch
            self._flats[enabled] = flatten(arch, scope, switch=switch)
        return self._flats[enabled]

    def spaces(
        self,
        active: Active,
        edits: Mapping[MappingConstraint, Edit] | None = None,
        min_usage: bool = False,
    ) -> list[Mapspace]:
        """Return the mapspaces of the Einsum, one per compute, under some constraints.

        `active`: the constraints that are kept; all others are removed. `edits`: changes of a
        component that take the place of a constraint. `min_usage`: keep the min_usage constraints
        of `active`, too; otherwise none counts. A component that is enabled against its file brings
        no constraints of its own.
        """
        constraints = self._constraints_with(min_usage)
        lifted = {c for c in constraints if c not in active}
        enabled = frozenset(c.component for c in lifted if c.kind == "enabled")
        edits_of = _edits_by_component(constraints, lifted, edits or {})
        paths = [self._edited_path(flat, enabled, edits_of) for flat in self.flats(enabled)]
        if not min_usage:
            paths = [_no_min_usage(flat) for flat in paths]
        backed = _backed_tensors(active)
        return [
            Mapspace(self.einsum, flat, self.conventions, backed, self.uneven) for flat in paths
        ]

    def _constraints_with(self, min_usage: bool) -> list[MappingConstraint]:
        """Return all constraints, those of min_usage only where asked for."""
        constraints = self.constraints_with_min_usage
        return [c for c in constraints if min_usage or c.kind != "min_usage"]

    def _edited_path(
        self, flat: FlatArch, enabled: frozenset[str], edits_of: Mapping[str, list[Edit]]
    ) -> FlatArch:
        """Return a path with edited components.

        Those `enabled` against the file have no constraints. `edits_of`: edits by component.
        """
        components: list[Component] = []
        for component in flat.components:
            edits = edits_of.get(component.name, ())
            if component.name in enabled:
                edits = [c.lift for c in constraints_of(component, self.einsum, lambda *_: None)]
            components.append(reduce(lambda edited, edit: edit(edited), edits, component))
        compute = components[-1]
        assert isinstance(compute, Compute)
        return replace(flat, components=tuple(components), compute=compute)

    def feasible(self, active: Active) -> bool:
        """Tell whether some mapping keeps all constraints of a set.

        Answers are remembered, and those for smaller or larger sets are used. Raises TooLarge where
        the time or work allowed is used up.
        """
        if active not in self._known:
            concluded_answer = concluded(self._known, active)
            self._known[active] = (
                self.fits(self.spaces(active)) if concluded_answer is None else concluded_answer
            )
        return self._known[active]

    def fits(self, spaces: list[Mapspace]) -> bool:
        """Tell whether one of some mapspaces has a mapping.

        Raises TooLarge where the time or work allowed is used up.
        """
        return any(self.mapping_of(space) is not None for space in spaces)

    def check(self, work: float = 0.0) -> None:
        """Add to the work done, and raise TooLarge if the work or the time is used up.

        `work`: tile shapes about to be looked at. An explanation may look at WORK of them; `cut` is
        set if it is ended.
        """
        self.spent += work
        self.ended = self.ended or self.budget.is_used_up
        if self.ended or self.spent > WORK:
            self.cut = True
            raise TooLarge

    def mapping_of(self, space: Mapspace) -> FoundMapping | None:
        """Return a mapping of a mapspace that fits, or None if there is none.

        Raises TooLarge where the time or work allowed is used up, or lanes have too many choices.
        """
        try:
            return self._existence.find(space)
        except UnsupportedFeature:  # more choices of lanes than can be looked through
            self.cut = True
            raise TooLarge from None

    def enabled_alone(self, constraint: MappingConstraint) -> bool:
        """Tell whether enabling one disabled component makes mappings possible.

        `constraint`: that the component is disabled. Unlike in `feasible`, the component brings the
        rules of its file. Raises TooLarge where the time or work allowed is used up.
        """
        remaining = frozenset(c for c in self.constraints if c != constraint)
        backed = _backed_tensors(remaining)
        try:
            flats = self.flats(frozenset({constraint.component}))
        except TilewrightError:  # it brings numbers that do not hold
            return False
        spaces = [
            Mapspace(self.einsum, _no_min_usage(flat), self.conventions, backed, self.uneven)
            for flat in flats
        ]
        return self.fits(spaces)

    def sizes(self) -> dict[str, float]:
        """Return the size of each memory on the paths of the Einsum, in bits, by its name."""
        return {
            c.name: c.size
            for flat in self.flats(frozenset())
            for c in flat.components
            if isinstance(c, Memory)
        }


def _backed_tensors(active: Active) -> frozenset[str]:
    """Return the tensors that the outermost memory must keep under some constraints."""
    return frozenset(c.tensor for c in active if c.kind == "unfused")


def _edits_by_component(
    constraints: list[MappingConstraint],
    lifted: set[MappingConstraint],
    edits: Mapping[MappingConstraint, Edit],
) -> dict[str, list[Edit]]:
    """Return, by component, the edits of the architecture that lift or replace constraints.

    `lifted`: constraints to drop; `edits`: what to do instead with others. In file order.
    """
    by_component: dict[str, list[Edit]] = {}
    for c in constraints:
        edit = edits.get(c, c.lift if c in lifted else None)
        if edit is not None and c.kind not in ("enabled", "unfused"):
            by_component.setdefault(c.component, []).append(edit)
    return by_component


def concluded(answers: Mapping[Active, bool], active: Active) -> bool | None:
    """Conclude whether a set of constraints can be kept from answers for other sets.

    True if a larger set can be kept, False if a smaller one cannot, None if no answer tells.
    """
    for decided, answer in answers.items():
        if active <= decided if answer else decided <= active:
            return answer
    return None


def _no_min_usage(flat: FlatArch) -> FlatArch:
    components = tuple(
        replace(c, spatial=tuple(replace(dim, min_usage=0.0) for dim in c.spatial))
        for c in flat.components
    )
    compute = components[-1]
    assert isinstance(compute, Compute)
    return replace(flat, components=components, compute=compute)


Feasible = Callable[[Active], bool]
