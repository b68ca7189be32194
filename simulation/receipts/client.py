"""`clients/verify_receipt.py`, as a module."""

import importlib.util
from pathlib import Path
from typing import Any

_PATH = Path(__file__).parents[2] / "clients" / "verify_receipt.py"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("verify_receipt", _PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


client = _load()
