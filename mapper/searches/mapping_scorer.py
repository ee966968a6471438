"""Score mappings of one mapspace with the model; compare a search's figures with its own."""

from __future__ import annotations

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.evaluation import evaluate_flat
from tilewright.mapper.model.occupancy.occupancy import Occupancy
from tilewright.mapper.model.paths.path import paths_of, restrict
from tilewright.mapper.model.paths.view import make_view
from tilewright.mapper.model.tally import tally
from tilewright.mapper.searches.result import EinsumMapping
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.workload.errors import InfeasibleMapping

TOLERANCE = 1e-9


def figures_agree(first: float, second: float) -> bool:
    """Tell whether two numbers are the same but for rounding, to 1e-9 relative.

    Infinite numbers and NaN agree with anything.
    """
    return not abs(first - second) > TOLERANCE * max(abs(first), abs(second))


def check_figures(searched: EinsumMapping, scored: EinsumMapping) -> None:
    """Compare the energy (J) and latency (s) of a search's mapping with those of the model.

    Raises InternalError if they differ by more than 1e-9, relative: a defect of the search.
    """
    for name in ("energy", "latency"):
        computed, modelled = getattr(searched, name), getattr(scored, name)
        if not figures_agree(computed, modelled):
            raise InternalError(
                f"the search computed {name} {computed!r}, the model {modelled!r}, for the"
                f" mapping\n{searched.mapping}"
            )


class MappingScorer:
    """Scores mappings of one mapspace with the analytical model, apart from the search.

    The model's tables for its Einsum and path of components are made once.
    """

    def __init__(self, space: Mapspace) -> None:
        self._view = make_view(space.einsum, space.flat)
        self._conventions = conventions_called(space.conventions)

    def score(self, mapping: Mapping) -> Score:
        """Return the model's score of a mapping of the Einsum.

        Raises InfeasibleMapping if tiles overfill a memory or it uses more instances than exist,
        MappingError if it is no mapping of the Einsum.
        """
        (path,) = paths_of(mapping)
        return evaluate_flat([(path, self._view)], self._conventions)

    def occupancy(self, mapping: Mapping) -> tuple[Occupancy, ...]:
        """Return the tile in bits that each tensor reserves in each memory, fitting or not.

        Raises MappingError if it is no mapping of the Einsum, InfeasibleMapping if it uses more
        instances of a fanout than exist.
        """
        (path,) = paths_of(mapping)
        restricted_path = restrict(path, frozenset(self._view.tensors))
        return tally(restricted_path, self._view, self._conventions).occupancy

    def costed(self, mapping: Mapping) -> EinsumMapping:
        """Return the mapping with the energy (J) and latency (s) that the model gives it.

        Raises InfeasibleMapping or MappingError if the model refuses it.
        """
        score = self.score(mapping)
        return EinsumMapping(mapping, score.energy, score.latency)

    def verified(self, candidate: EinsumMapping) -> EinsumMapping:
        """Return a search's mapping with the model's numbers, after a comparison of both.

        Raises InternalError if energy or latency differ by more than 1e-9, relative, or if the
        model finds the mapping infeasible: a defect of the search.
        """
        try:
            confirmed = self.costed(candidate.mapping)
        except InfeasibleMapping as error:
            raise InternalError(
                f"the search's mapping is refused by the model: {error}\n{candidate.mapping}"
            ) from error
        check_figures(candidate, confirmed)
        return confirmed
