"""Closed days are verified: whatever is changed in one is found, and the same data make the same hash."""

from pathlib import Path

import pytest

from malipo.db import Database
from malipo.encryption import Encryption
from malipo.reconciliation.close import signing_key
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.verify import VerificationResult, verify
from malipo.words.say import say
from tests.conftest import SECRET_KEY
from tests.reconciliation.close.books import ENCRYPTION, MONDAY, TUESDAY, WEDNESDAY, Books, at


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    """Three closed days, at whose ends a line is open."""
    books = await Books.begin(database, tmp_path)
    await books.statement(MONDAY, [("X", 700, "15:00", "money")])
    await books.exception("theirs_only", "X")
    for day in (TUESDAY, WEDNESDAY):
        await books.paid(f"R{day.day}", 5000, at(day))
        await books.statement(day, [(f"R{day.day}", 5000, "11:59", "money")])
        await books.match(f"R{day.day}")
    for day in (MONDAY, TUESDAY, WEDNESDAY):
        await books.close(day)
    return books


async def verified(
    books: Books, *, encryption: Encryption = ENCRYPTION, with_ledger: bool = True
) -> VerificationResult:
    async with books.database.snapshot() as connection:
        return await verify(connection, encryption, with_ledger=with_ledger)


async def test_closed_days_that_nobody_has_touched_are_verified(books: Books) -> None:
    found = await verified(books)
    assert (found.days, found.findings, len(found.hash)) == (3, [], 64)


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ("UPDATE day_closes SET content = replace(content, '5000', '5001') WHERE day = '2026-11-03'", "its hash"),
        ("UPDATE day_closes SET hash = sha256('x') WHERE day = '2026-11-03'", "2026-11-04: it does not follow"),
        ("UPDATE day_closes SET reason = 'agreed' WHERE day = '2026-11-04'", "2026-11-04: its signature is wrong"),
        ("UPDATE day_closes SET closed_by = 'operator x' WHERE day = '2026-11-02'", "its signature is wrong"),
        ("UPDATE day_closes SET closed_at = closed_at - interval '1 day'", "its signature is wrong"),
        ("UPDATE day_closes SET counted = '{}' WHERE day = '2026-11-04'", "its signature is wrong"),
        ("UPDATE day_close_entries SET amount = 7 WHERE day = '2026-11-03'", "2026-11-03: what was open at its end"),
        ("DELETE FROM day_close_entries WHERE day = '2026-11-04'", "2026-11-04: what was open at its end"),
        (
            "DELETE FROM day_close_entries WHERE day = '2026-11-03'; DELETE FROM day_closes WHERE day = '2026-11-03'",
            "it does not follow the close before it",
        ),
        (
            "DELETE FROM day_close_entries WHERE day = '2026-11-04'; DELETE FROM day_closes WHERE day = '2026-11-04'",
            "2026-11-04: the audit log says that it was closed",
        ),
        ("UPDATE close_signing_keys SET public_key = decode(repeat('ab', 32), 'hex')", "The published key"),
        ("UPDATE close_signing_keys SET secret = '\\x00'", "the key that signed it cannot be read"),
        ("UPDATE moves SET amount = amount - 1 WHERE created_at < '2026-11-04'", "2026-11-03: the ledger's moves"),
    ],
)
async def test_whatever_is_changed_in_a_closed_day_is_found(books: Books, change: str, reported: str) -> None:
    async with books.database.begin() as tx:
        await tx.execute(change)
    findings = [say(each) for each in (await verified(books)).findings]
    assert any(reported in each for each in findings), findings


async def test_a_close_cannot_be_signed_with_the_database_alone(books: Books) -> None:
    """A new content with its right hash, all the way to the end, still lacks the signature."""
    async with books.database.begin() as tx:
        await tx.execute(
            "UPDATE day_closes SET content = replace(content, '5000', '5001') WHERE day = '2026-11-04';"
            "UPDATE day_closes SET hash = sha256(previous || convert_to(content, 'UTF8')) WHERE day = '2026-11-04';"
            "UPDATE audit_log SET details = (SELECT json_build_object('day', day, 'hash', encode(hash, 'hex')) "
            "FROM day_closes WHERE day = '2026-11-04') WHERE details ->> 'day' = '2026-11-04'"
        )
    assert [say(each) for each in (await verified(books)).findings] == ["2026-11-04: its signature is wrong."]


async def test_signatures_stay_good_when_the_secret_key_is_changed(books: Books) -> None:
    new = "another-secret-that-is-long-enough-for-tests"
    async with books.database.begin() as tx:
        assert await signing_key.reencrypt(tx, Encryption(new, SECRET_KEY)) == (1, 1)
        assert await signing_key.reencrypt(tx, Encryption(new, SECRET_KEY)) == (0, 1)
    assert (await verified(books, encryption=Encryption(new))).findings == []
    findings = [say(each) for each in (await verified(books)).findings]
    assert any("the key that signed it cannot be read" in each for each in findings), findings


async def test_a_day_whose_close_was_lost_in_a_restore_gets_the_same_hash_again(books: Books) -> None:
    before = await verified(books)
    async with books.database.begin() as tx:  # as a backup of before the close has it
        await tx.execute(
            "DELETE FROM day_close_entries WHERE day = '2026-11-04'; DELETE FROM day_closes WHERE day = '2026-11-04';"
            "DELETE FROM audit_log WHERE details ->> 'day' = '2026-11-04'"
        )
    again = await books.try_to_close(WEDNESDAY, now=at(WEDNESDAY.replace(day=25)))
    assert isinstance(again, ClosedDay)
    assert (again.hash.hex(), (await verified(books)).findings) == (before.hash, [])
