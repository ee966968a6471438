"""Values that --set replaces in a study."""

from __future__ import annotations

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.study.study_loading import load_study


def test_set_replaces_fields_and_gives_variables(toy, tmp_path):
    path = toy.write_study(tmp_path)
    path.write_text(path.read_text() + "# a variable called SCALE\n")
    arch = tmp_path / "arch.yaml"
    arch.write_text(arch.read_text() + "variables: {Bits: 8}\n")
    spec = load_study(
        path,
        {
            "search.trials": 5,
            "seed": 3,
            "arch.variables.Bits": 16,
            "SCALE": 2,
            "baselines.0.values.mapping.up.tile": 16,
        },
    )
    assert (spec.trials, spec.seed) == (5, 3)
    assert spec.arch.variables == {"Bits": 16, "SCALE": 2}
    assert spec.workload.variables == {"SCALE": 2}
    assert spec.baselines[0].point["mapping.up.tile"] == 16
    with pytest.raises(SpecError, match="no item `7`"):
        load_study(path, {"objectives.7.metric": "energy"})
    with pytest.raises(SpecError, match="no file here has a variable SCAEL"):
        load_study(path, {"SCAEL": 2})
    with pytest.raises(SpecError, match="did you mean SCALE"):
        load_study(path, {"SCALES": 2})
    with pytest.raises(SpecError, match="one of: Bits"):
        load_study(path, {"nope": 3})
