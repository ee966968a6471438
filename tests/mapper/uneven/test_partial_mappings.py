"""The undominated partial mappings."""

from __future__ import annotations

import numpy as np

from tilewright.mapper.searches.uneven.partial_mappings import PartialMappings, undominated


def test_undominated_equals_a_comparison_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        count = int(rng.integers(1, 60))
        states = rng.integers(0, 3, (count, 2))
        fields = rng.integers(0, 4, (count, 3)).astype(float)
        kept = undominated(PartialMappings(states, fields, np.arange(count)), (0, 2))
        best = {(*states[i], fields[i, 0], fields[i, 2]) for i in kept.tolist()}
        assert len(best) == len(kept)
        for i in range(count):
            row = (*states[i], fields[i, 0], fields[i, 2])
            beaten = any(
                (states[i] == states[j]).all()
                and (fields[j, [0, 2]] <= fields[i, [0, 2]]).all()
                and (fields[j, [0, 2]] != fields[i, [0, 2]]).any()
                for j in range(count)
            )
            assert (row in best) is not beaten
