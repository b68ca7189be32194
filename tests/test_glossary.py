"""The glossary is true: each word stands once, in order, and every place that it names exists."""

import argparse
import re
from dataclasses import fields
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from malipo.api.routes import ROUTES
from malipo.cli import parser
from malipo.settings import Settings
from malipo.settings.environment import variable

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in (ROOT / "docs" / "glossary.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| word ")
]
PLACES = [(row[0], kind.strip(), place) for row in ROWS for kind, place in re.findall(r"(table )?`([^`]+)`", row[-1])]
# What a newcomer meets on the first day: taking one of these out must be noticed.
NEEDED = """
    payment, transaction, collection, disbursement, payout, channel, network, connector, network key, reference,
    idempotency key, dispatch, claim, lease, verdict, network answer, case, resolution, contradiction, correction,
    suspense, float, wallet, move, booking, top-up, settlement, tariff, fee, outbox, event, feed, cursor, delivery,
    attempt, endpoint, callback, circuit breaker, group commit, rollup, search index, audit log, operator, person,
    session, hold, fence, epoch, high-water mark, statement, simulator, prompt, simulation, seed, fault, oracle, finding
"""


def _without_field(word: str) -> str:
    """A word with several meanings has an entry for each, with its field: `batch (of payouts)`."""
    return word.partition(" (")[0]


def test_each_word_has_a_meaning_and_a_place() -> None:
    assert len(ROWS) > 90
    assert [row for row in ROWS if len(row) != 4 or not row[0] or not row[2] or "`" not in row[3]] == []


def test_each_word_stands_once_and_in_order() -> None:
    words = [re.sub("[^a-z]", "", row[0].lower()) for row in ROWS]
    assert words == sorted(set(words))


def test_no_word_is_missing_that_a_newcomer_needs() -> None:
    words = {_without_field(row[0]) for row in ROWS}
    assert [word for word in map(str.strip, NEEDED.split(",")) if word not in words] == []


@pytest.mark.parametrize(("word", "kind", "place"), PLACES, ids=lambda value: value.replace("/", "."))
def test_each_place_exists(word: str, kind: str, place: str) -> None:
    if kind == "table":
        assert place in _tables(), word
    elif place.startswith("MALIPO_"):
        assert place in {variable(each.name) for each in fields(Settings)}, word
    elif place.startswith("malipo "):
        assert _is_command(parser(), place.split()[1:]), word
    elif re.match("[A-Z]+ /", place):
        assert place in {f"{route.method} {route.path}" for route in ROUTES}, word
    else:
        assert (ROOT / place).exists(), word


def test_each_kiswahili_word_is_the_dashboards() -> None:
    """A word that a page has as a heading or a label has that translation; of another, a sentence has it."""
    with (ROOT / "malipo" / "dashboard" / "locale" / "sw.po").open("rb") as file:
        catalogue = [(str(each.id).lower(), str(each.string).lower()) for each in read_po(file)]
    wrong = []
    for word, kiswahili, *_ in ROWS:
        english = _without_field(word).lower()
        stem = english.removesuffix("y")
        labels = [said for each, said in catalogue if each in (english, f"{english}s", f"{stem}ies")]
        sentences = [said for each, said in catalogue if stem in each and kiswahili.lower() in said]
        if kiswahili and not (kiswahili.lower() in labels if labels else sentences):
            wrong.append((word, kiswahili, labels))
    assert wrong == []


def _tables() -> set[str]:
    """The tables that all migrations together leave."""
    tables: set[str] = set()
    for migration in sorted((ROOT / "malipo" / "db" / "migrations").glob("*.sql")):
        for made, old, new in re.findall(
            r"CREATE (?:UNLOGGED )?TABLE (\w+)|ALTER TABLE (\w+) RENAME TO (\w+)", migration.read_text()
        ):
            tables = (tables - {old}) | {made or new}
    return tables


def _is_command(parser_: argparse.ArgumentParser, words: list[str]) -> bool:
    below = [action for action in parser_._actions if isinstance(action, argparse._SubParsersAction)]
    if not words or not below:
        return not words and not below
    return any(_is_command(action.choices[words[0]], words[1:]) for action in below if words[0] in action.choices)
