"""The clients as they were released, so that one that has changed gets another number.

Otherwise `pip install -U` keeps what is installed. A release adds the current ones (`tests/contract/release.py`).
"""

import hashlib
import json
from pathlib import Path

import malipo_client

RELEASED = Path(__file__).parent / "released.json"
CLIENTS = Path(__file__).parents[2] / "clients"
_FILES = {
    "python": ["python/pyproject.toml", "python/src/**/*.py"],
    "typescript": ["typescript/package.json", "typescript/src/*.ts"],
    "php": ["php/*"],
}


def fingerprints(clients: Path = CLIENTS) -> dict[str, str]:
    """Of the sources of each client, without their pages."""
    found = {}
    for name, patterns in _FILES.items():
        paths = sorted(path for each in patterns for path in clients.glob(each) if path.suffix != ".md")
        digest = hashlib.sha256()
        for path in paths:
            digest.update(f"{path.relative_to(clients)}\n".encode() + path.read_bytes())
        found[name] = digest.hexdigest()
    return found


def released() -> dict[str, dict[str, str]]:
    """The fingerprints of each number, the oldest first."""
    answer: dict[str, dict[str, str]] = json.loads(RELEASED.read_text())
    return answer


def keep() -> None:
    RELEASED.write_text(json.dumps(released() | {malipo_client.__version__: fingerprints()}, indent=1) + "\n")
