"""Gives adopted payments the keys that statements which the worker fetched later tell of their lines.

A line without a key is adopted with a random one, which no repeat of the lost request finds. Once the worker's own
file has told the line's key, a repeat finds the payment by it; unless the repeat has come before, and has the key.
"""

from malipo.db import Database, DataError
from malipo.installation import network_keys
from malipo.payments.store import adopted_payments, transactions
from malipo.reconciliation.store import matching, payments


async def take_told_keys(database: Database) -> None:
    async with database.read() as connection:
        told = await payments.find_adopted_with_key(connection)
    for payment, written in told:
        key = network_keys.key_in(written)
        if key is None or key == payment.network_key:
            continue
        try:
            async with database.begin() as tx:
                await matching.lock(tx)
                if await transactions.find_by_network_key(tx, key) is None:
                    await adopted_payments.take_key(tx, payment, key)
        except DataError:
            continue  # The merchant has just repeated the request.
