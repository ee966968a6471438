"""The module of a toy study, loaded from its file (tests/dse/toy_study.py)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TOY = Path(__file__).parents[1] / "dse" / "toy_study.py"


def load_toy() -> ModuleType:
    """Return the module toy_study, which pickles find by this name."""
    spec = importlib.util.spec_from_file_location("toy_study", TOY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy_study"] = module
    spec.loader.exec_module(module)
    return module
