"""The process dies at each statement that an act gives to the database: nothing has happened, and a repeat does all of
it."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from malipo.bank import approve, import_statement
from malipo.bank.read_statement import read_file
from malipo.bank.store import payer_accounts
from malipo_simulator.bank.statement_formats import FORMATS
from tests.bank.bank_desk import WITHOUT_LIMIT, BankDesk
from tests.operators.booking_steps import ASHA, JUMA

_STATEMENTS = ("execute", "fetch", "fetchrow", "fetchval")
_STATE = """
    SELECT (SELECT count(*) FROM moves)::text || (SELECT count(*) FROM audit_log) || (SELECT count(*) FROM messages)
           || (SELECT string_agg(status, ',' ORDER BY id) FROM settlements)
           || (SELECT string_agg(status, ',' ORDER BY id) FROM payout_files)
           || (SELECT count(*) FROM bank_lines) || (SELECT count(*) FROM bank_line_matches)
           || (SELECT count(*) FROM bank_coverage) || (SELECT count(decided_at) FROM proposals)
"""


class Died(BaseException):
    """The process is gone: nobody catches it."""


class MortalConnection:
    """A connection that dies before its nth statement."""

    def __init__(self, connection: Any, dies_at: int) -> None:
        self._connection, self._left = connection, dies_at

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._connection, name)
        if name in _STATEMENTS:
            self._left -= 1
            if self._left == 0:
                raise Died
        return found


async def die_everywhere(desk: BankDesk, act: Callable[[Any], Awaitable[object]]) -> int:
    """At the first statement, at the second, …, until the act is done. Returns how many deaths there were."""
    for dies_at in range(1, 200):
        before = await desk.database_rows(_STATE)
        try:
            async with desk.database.begin() as tx:
                await act(MortalConnection(tx, dies_at))
            return dies_at - 1
        except Died:
            assert await desk.database_rows(_STATE) == before, f"something is left of a death at statement {dies_at}"
    raise AssertionError("it never ends")


@pytest.mark.parametrize("one_sum", [False, True])
async def test_a_file_is_approved_and_a_statement_counts_wholly_or_not_at_all(desk: BankDesk, one_sum: bool) -> None:
    desk.bank.change({"booksOneSum": one_sum, "listsParts": False, "chargeCents": 59_050})
    settlement = await desk.requested(100_000)
    gathered = await desk.gather()

    async def approving(tx: Any) -> object:
        return await approve.approve(tx, gathered.file.id, reference_prefix="MLP", actor=JUMA, now=desk.now)

    assert await die_everywhere(desk, approving) > 15
    assert await desk.statuses(settlement) == ["SENT"]
    await desk.hand_in(gathered.file.id)
    path = desk.folder / "statement.xml"
    path.write_bytes(FORMATS["camt053"][1](desk.bank, desk.today, desk.today))
    async with desk.database.read() as connection:
        [read] = read_file(path, await payer_accounts.find_all(connection))

    async def importing(tx: Any) -> object:
        return await import_statement.import_statement(
            tx, read, approval_amount=WITHOUT_LIMIT, actor=ASHA, now=desk.now
        )

    assert await die_everywhere(desk, importing) > 15
    assert await desk.statuses(settlement) == ["COMPLETED"]
    assert await desk.kinds() == ["unknown_debit"]
    assert (await desk.balances())["bank"] == -900_000
