"""What designs share is counted, and said in words."""

from __future__ import annotations

import json

from tilewright.dse.models.analytical import AnalyticalEvaluator
from tilewright.dse.models.evaluator import NOTHING_SHARED, Sharing, attempt
from tilewright.dse.report.sharing import sharing_of, sharing_text, total_of
from tilewright.mapper.searches.shared.hit_counts import KEEPING


def test_designs_of_other_energies_find_their_templates_ready(files, monkeypatch):
    monkeypatch.setattr(KEEPING, "enabled", True)
    model = AnalyticalEvaluator(*files, "energy")
    first, second = (
        attempt(model, {"arch.Main.actions.read.energy": joules}) for joules in (7e-12, 9e-12)
    )
    assert first.outcome.metrics["energy"] < second.outcome.metrics["energy"]
    assert second.sharing == Sharing(0, 0, first.sharing.structures, first.sharing.structures)
    assert second.sharing.structures > 0


def test_the_sums_of_a_run_in_words(tmp_path):
    assert total_of([]) == NOTHING_SHARED
    times = tmp_path / "times.jsonl"
    assert sharing_of(times) == NOTHING_SHARED
    counts = Sharing(1, 2, 8, 6)
    lines = [json.dumps({"shared": counts._asdict()}), "{", '{"shared": {"repeated": 1}}', "{}"]
    times.write_text("\n".join(lines))
    assert sharing_of(times) == Sharing(2, 2, 8, 6)
    assert sharing_text(sharing_of(times)) == (
        "4 results known already; 75 % of 8 sets of templates left by earlier designs"
    )
    assert sharing_text(Sharing(repeated=1)) == "1 result known already"
