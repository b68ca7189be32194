"""A program that was written for the last release goes on working: the contract is compared with what was released."""

import json
from pathlib import Path
from typing import Any

from tests.api.published_contract import PUBLISHED, with_internal_routes
from tests.contract.breaking_changes import breaking_changes
from tests.contract.release import bare

FOLDER = Path(__file__).parent


# What a program meets only if it asks for something that was not there at the release.
ONLY_IF_ASKED_FOR = {
    # An event of a batch, in place of a payment's: with the parameter `types`.
    "GET /v1/events 200.events[]: one of its forms is not expected",
    # The line of a settlement to the bank, which somebody has requested.
    "GET /v1/wallet/entries 200.entries[].causeId: pattern ^(txn|bok|stl)_[0-9a-hjkmnp-tv-z]{26}$ against "
    "^(txn|bok)_[0-9a-hjkmnp-tv-z]{26}$",
}


def _version(path: Path) -> tuple[int, ...]:
    return tuple(map(int, path.stem.removeprefix("released-").split(".")))


def latest() -> Any:
    return json.loads(max(FOLDER.glob("released-*.json"), key=_version).read_text())


def test_nothing_that_programs_rely_on_has_changed_since_the_last_release() -> None:
    released, current = latest(), bare(with_internal_routes(PUBLISHED))
    for each in (released, current):
        del each["paths"]["/docs"]  # A page, for people: its policy allows the script of the search since.
    assert set(breaking_changes(released, current)) <= ONLY_IF_ASKED_FOR


def test_the_contract_of_the_release_was_kept() -> None:
    released = latest()
    assert len(released["paths"]) > 40
    assert len(released["webhooks"]) > 10
    assert "description" in released["components"]["schemas"]["NewCollection"]["properties"]
