"""The candidates whose share by their pattern benchmarks/pattern_share.py measures."""

from itertools import islice

from pattern_share import Study, options_of, plans_of

from tilewright.simulator.lowering.plan import program_of


def test_families_with_persistent_tensors_are_among_the_candidates() -> None:
    """The keys of an attention stay in the elements, so the least bounds have no stream of them."""
    study = Study("attention", "attention_head", {"SCALE": 64}, options=2, candidates=4, grid=4)
    plans = [plan for _, plan in islice(plans_of(next(options_of(study))), study.candidates)]
    inputs = [[port.name for port in program_of(plan).edge_inputs] for plan in plans]
    assert plans[0].read.einsum.name == "S"
    assert inputs == [["edge_Q"]] * study.candidates
