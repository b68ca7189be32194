"""Adds ended payments to the rollups and to the search index, in the order of the feed, each once.

It runs after the payments' commits. Readers read uncounted payments themselves (`backlog.py`), so counting is not
urgent and no payment waits for it.
"""

from malipo import ids
from malipo.db import Tx
from malipo.networks.connector import Channel
from malipo.payments.rollups import backlog
from malipo.payments.rollups.categories import CATEGORIES, TREE
from malipo.payments.search import index
from malipo.payments.transaction import Status, Type
from malipo.rollups import store as rollups
from malipo.rollups.bucket_tree import add_up
from malipo.rollups.store import Rollup

# Fewer payments than this are not counted: reading them is fast, and counting many together is cheaper.
LEAST = 100
_MERCHANTS = 50
_EVENTS = 2000


async def count(tx: Tx, *, least: int = LEAST) -> bool:
    """Count for the merchants with the largest backlog. Returns whether more may be left."""
    behind = {
        each.merchant_id: each.last_number for each in await backlog.find_behind(tx, least=least, most=_MERCHANTS)
    }
    if not behind:
        return False
    positions = await rollups.lock_positions(tx, Rollup.PAYMENTS, behind)
    each = max(_EVENTS // len(behind), least)
    # Another worker may have counted meanwhile, but a position never goes back.
    new_positions = {
        merchant_id: max(position, min(behind[merchant_id], position + each))
        for merchant_id, position in positions.items()
    }
    ended = await backlog.find_ended(tx, list(positions), list(positions.values()), list(new_positions.values()))
    if ended:
        entries = (
            (
                one.merchant_id,
                ids.milliseconds_of(one.id),
                CATEGORIES[Channel(one.channel), Type(one.type), Status(one.status)],
            )
            for one in ended
        )
        await rollups.add(tx, Rollup.PAYMENTS, add_up(TREE, entries))
        await index.insert(tx, ended)
    await rollups.set_positions(tx, Rollup.PAYMENTS, new_positions)
    return new_positions != positions
