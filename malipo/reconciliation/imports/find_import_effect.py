"""Computes the effect of withdrawing an import, before anybody proposes it. It only reads."""

from datetime import datetime

from malipo.db import Conn
from malipo.ledger import house_bookings
from malipo.ledger.store import house_bookings as booking_store
from malipo.reconciliation.exceptions.action_moves import booked_back
from malipo.reconciliation.exceptions.find_effect import ImportEffect, changes_of, find_balances
from malipo.reconciliation.imports.store import withdrawal_effects, withdrawals
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.book_lines import move_of
from malipo.reconciliation.statements.statement_file import StatementFile


async def find_import_effect(
    connection: Conn, file: StatementFile, *, approval_amount: int, now: datetime
) -> ImportEffect | None:
    """The effect; None if the file was withdrawn. Bookings that other files would get, and that would then wait for a
    second operator, are not in it."""
    if file.withdrawn_at is not None:
        return None
    balances = await find_balances(connection)
    undone = await withdrawal_effects.find_bookings_to_undo(connection, file.id)
    bookings = [house_bookings.booking_of(row) for row in await booking_store.find(connection, "id = ANY($1)", undone)]
    sums = await withdrawal_effects.sum_lines_of_heirs(connection, file.id)
    waiting = await import_approval.find_files_that_would_wait(
        connection, sums, approval_amount=approval_amount, now=now
    )
    anew = [move_of(each) for each in sums if each.cents and each.file_id not in waiting]
    elsewhere, called_otherwise = await withdrawal_effects.count_lines_of_heirs(connection, file.id, waiting)
    cents = await booking_store.find_cents(connection, file.channel, file.account)
    return ImportEffect(
        withdrawal=changes_of(booked_back(bookings, anew, cents=cents), balances),
        undos={
            each.id: changes_of(booked_back([each], [], cents=cents), balances)
            for each in bookings
            if each.file_id == file.id
        },
        elsewhere=elsewhere,
        called_otherwise=called_otherwise,
        awaiting_approval=sum(each.lines for each in sums if each.file_id in waiting),
        matches=await withdrawal_effects.count_matches(connection, file.id),
        stays=len(await withdrawals.find_ended(connection, file.id)),
    )
