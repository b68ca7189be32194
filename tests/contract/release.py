"""Keeps the contract of a release, for test_released_contract.py, and what the clients are: `.venv/bin/python -m tests.contract.release 0.3.0`

Only what a program relies on is kept: no words and no examples.
"""

import json
import sys
from pathlib import Path
from typing import Any

from tests.api.published_contract import PUBLISHED, with_internal_routes
from tests.clients import releases

FOLDER = Path(__file__).parent
_WORDS = {"description", "summary", "title", "example", "examples", "tags", "links", "info", "servers"}


def bare(value: Any, *, is_by_name: bool = False) -> Any:
    """Without words and examples. A field may be called `description`."""
    if isinstance(value, dict):
        kept = value if is_by_name else {key: each for key, each in value.items() if key not in _WORDS}
        return {key: bare(each, is_by_name=key == "properties") for key, each in kept.items()}
    return [bare(each) for each in value] if isinstance(value, list) else value


def keep(contract: Any, version: str) -> Path:
    path = FOLDER / f"released-{version}.json"
    path.write_text(json.dumps(bare(contract), indent=1) + "\n")
    return path


if __name__ == "__main__":
    print(keep(with_internal_routes(PUBLISHED), sys.argv[1]))
    releases.keep()
