"""Each profile, on files as its network writes them: every field of every line, in the JSON beside the file.

The expected lines were written by hand, from what is known of these exports: fees with the payment's receipt, sweeps in
pairs, masked phones, lines that failed, amounts with and without a minus, the newest first or last, labels anywhere.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from malipo.network_statements.adds_up import Chain
from malipo.network_statements.heading import StatementHeading
from malipo.network_statements.profile import built_in
from malipo.network_statements.read_statement import read_statement
from malipo.network_statements.statement_line import BadLine, StatementLine
from malipo.reconciliation.statements.choose_profile import best_profile

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path for path in GOLDEN.iterdir() if path.suffix != ".json")


class Expected(msgspec.Struct, rename="camel"):
    profile: str
    heading: dict[str, Any]
    opening: int | None
    closing: int | None
    is_newest_first: bool
    lines: list[StatementLine]

    @property
    def read_heading(self) -> StatementHeading:
        """Written in shillings."""
        read = msgspec.convert(self.heading, StatementHeading)
        return msgspec.structs.replace(read, opening=_cents(read.opening), closing=_cents(read.closing))


def _cents(shillings: int | None) -> int | None:
    return None if shillings is None else shillings * 100


def expected_of(path: Path) -> Expected:
    return msgspec.json.decode((path.parent / f"{path.name}.json").read_bytes(), type=Expected)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_field_of_every_line_is_as_expected(path: Path) -> None:
    expected = expected_of(path)
    statement = read_statement(path, built_in()[expected.profile])
    chain, lines = Chain(), []
    for line in statement.lines:
        assert not isinstance(line, BadLine), line
        chain.add(line)
        lines.append(line)
    assert lines == expected.lines
    assert statement.heading == expected.read_heading
    assert (chain.opening, chain.closing, chain.is_newest_first) == (
        _cents(expected.opening),
        _cents(expected.closing),
        expected.is_newest_first,
    )
    assert chain.problems(statement.heading) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_its_own_profile_is_chosen_by_its_columns(path: Path) -> None:
    profile = built_in()[expected_of(path).profile]
    found = best_profile(path, profile.channels[0], built_in().values())
    # What malipo fetched itself is imported by its own profile, and never guessed.
    assert found is not profile if profile.is_fetched else found is profile


def test_the_code_page_of_old_spreadsheets_is_read_too(tmp_path: Path) -> None:
    path = GOLDEN / "mpesa-account-positive.csv"
    (tmp_path / "old.csv").write_bytes(path.read_bytes().decode().encode("cp1252"))
    assert (tmp_path / "old.csv").read_bytes() != path.read_bytes()
    statement = read_statement(tmp_path / "old.csv", built_in()["mpesa-account"])
    assert list(statement.lines) == expected_of(path).lines


def test_no_profile_is_without_a_golden_file() -> None:
    assert {expected_of(path).profile for path in FILES} == set(built_in())
    assert any(path.suffix == ".xlsx" for path in FILES)
