"""Which of two payments that a line fits keeps the line: each fit against each other, for each source of the key."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement

from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.payments.transaction import Transaction, Type
from malipo.reconciliation.matching.store import candidates
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.import_desk import ImportDesk
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, WORKER, Entry, line_of
from tests.reconciliation.statement_days import statements as statements
from tests.reconciliation.test_lines_that_fit_two import complete

# Rows: the claim of one payment; ≠ is one whose amount is not the line's. Columns: the claim of another payment, whose
# amount is. x: the payment of the row does not keep the line from the other. A payment of another amount drops none.
#
#   key         the line names the payment's network key
#   receipt     the payment has the line's receipt from its network
#   typed       the payment has the line's receipt, but only operators or a line have reported it
COLUMNS = ("key", "key, receipt", "key, typed", "receipt", "typed")
DROPPED = {
    "the network's own statement has the key": """
        key              .  .  .  .  .
        key, receipt     .  .  .  .  .
        key, typed       .  .  .  .  .
        receipt          .  .  .  .  .
        typed            x  x  x  x  .
        key ≠            .  .  .  .  .
        key, receipt ≠   .  .  .  .  .
        key, typed ≠     .  .  .  .  .
        receipt ≠        x  x  x  .  .
        typed ≠          x  x  x  x  .
    """,
    "an operator's copy adds the key to the network's line": """
        key              .  x  .  x  .
        key, receipt     .  .  .  .  .
        key, typed       .  x  .  x  .
        receipt          .  .  .  .  .
        typed            .  x  .  x  .
        key ≠            .  x  .  x  .
        key, receipt ≠   .  .  .  .  .
        key, typed ≠     .  x  .  x  .
        receipt ≠        .  .  .  .  .
        typed ≠          x  x  x  x  .
    """,
    "only operators have the line": """
        key              .  .  .  .  .
        key, receipt     .  .  .  .  .
        key, typed       .  .  .  .  .
        receipt          .  .  .  .  .
        typed            .  x  .  x  .
        key ≠            .  .  .  .  .
        key, receipt ≠   .  .  .  .  .
        key, typed ≠     .  .  .  .  .
        receipt ≠        x  x  x  .  .
        typed ≠          x  x  x  x  .
    """,
}
CLAIMS = [claim + other for other in ("", " ≠") for claim in COLUMNS]


def cells(grid: str) -> Iterator[tuple[str, str]]:
    """The pairs with an x."""
    lines = [line.strip() for line in grid.strip().splitlines()]
    assert [line[:16].strip() for line in lines] == CLAIMS
    for claim, line in zip(CLAIMS, lines, strict=True):
        yield from ((claim, column) for column, mark in zip(COLUMNS, line[16:].split(), strict=True) if mark == "x")


async def bring_lines(desk: ImportDesk) -> dict[str, int]:
    """A line for each grid: its id."""
    named = await desk.statements.completed(Type.COLLECTION, 1000)

    async def bring(receipt: str, *files: tuple[Actor, str]) -> int:
        line: Entry = line_of(named, receipt)
        for by, key in files:
            await desk.bring(desk.statements.write(replace(line, key=key), has_balances=False), by)
        async with desk.database.read() as connection:
            return int(await connection.fetchval("SELECT id FROM statement_lines WHERE receipt = $1", receipt))

    key = named.network_key
    lines = (
        await bring("QNETWORK01", (WORKER, key)),
        await bring("QCOPIED001", (WORKER, ""), (ASHA, key)),
        await bring("QOPERATOR1", (ASHA, key)),
    )
    return dict(zip(DROPPED, lines, strict=True))


async def repeat(tx: Tx, line_id: int, times: int) -> list[int]:
    """Lines of the same files."""
    columns = "row, moved_at, kind, key, phone, linked, balance, details"
    rows = await tx.fetch(
        f"""
        INSERT INTO statement_lines (file_id, channel, account, receipt, amount, nth, {columns})
        SELECT file_id, channel, account, receipt, amount, 100 + n, {columns}
        FROM statement_lines CROSS JOIN generate_series(1, $2) AS n WHERE id = $1 RETURNING id
        """,
        line_id,
        times,
    )
    await tx.execute(
        f"""
        INSERT INTO statement_line_copies (line_id, file_id, {columns})
        SELECT new.id, file_id, {columns} FROM statement_line_copies CROSS JOIN unnest($2::bigint[]) AS new (id)
        WHERE line_id = $1
        """,
        line_id,
        [row["id"] for row in rows],
    )
    return [row["id"] for row in rows]


async def note(tx: Tx, line_id: int, claim: str, payment: Transaction) -> None:
    """As `fill_candidates` does it."""
    reported = claim.removesuffix(" ≠").split(", ")
    is_exact, by_receipt, by_key = not claim.endswith("≠"), claim.removesuffix(" ≠") != "key", "key" in reported
    given = (line_id, payment.merchant_id, payment.id, is_exact, by_receipt, by_key)
    await tx.execute("INSERT INTO candidates VALUES ($1, $2, $3, $4, $5, $6)", *given)


async def test_every_claim_against_every_other(desk: ImportDesk) -> None:
    lines = await bring_lines(desk)
    by_network, by_people = [], []
    for number in range(2):
        by_network.append(await desk.statements.completed(Type.COLLECTION, 1000, receipt=f"QTOLD{number}"))
        typed = await desk.statements.steps.processing(Type.COLLECTION, 1000)
        await complete(desk, typed, f"QTYPED{number}")
        by_people.append(typed)
    cases: dict[tuple[int, str], tuple[str, str, str]] = {}  # of a line and a payment: the cell
    pairs = list(combinations_with_replacement(CLAIMS, 2))
    async with desk.database.begin() as tx:
        await candidates.fill_candidates(tx, layouts=[], accounts=[], channels=[], first=[], last=[])
        for told_by, line_id in lines.items():
            for case_id, (one, other) in zip(await repeat(tx, line_id, len(pairs)), pairs, strict=True):
                for number, (claim, against) in enumerate([(one, other), (other, one)]):
                    payment = (by_people if "typed" in claim else by_network)[number]
                    await note(tx, case_id, claim, payment)
                    cases[case_id, payment.id] = (told_by, claim, against)
        await candidates.drop_weaker(tx)
        kept = {(row["line_id"], row["transaction_id"]) for row in await tx.fetch("SELECT * FROM candidates")}
    assert len(cases) == 3 * 2 * 55
    found = {cell for case, cell in cases.items() if case not in kept}
    assert found == {(told_by, *cell) for told_by, grid in DROPPED.items() for cell in cells(grid)}
