"""Counts payments that have ended and makes them findable, after the fact: in the order of the feed, each once.

Readers look at what is not counted yet themselves (`backlog.py`). So nothing here is in a hurry, and no payment
waits for it.
"""

from malipo import ids
from malipo.counts import store as rollups
from malipo.counts.bucket_tree import add_up
from malipo.counts.store import Rollup
from malipo.db import Tx
from malipo.networks.connector import Channel
from malipo.payments.counts import backlog
from malipo.payments.counts.categories import CATEGORIES, TREE
from malipo.payments.search import index
from malipo.payments.transaction import Status, Type

# Fewer than this are quicker looked at than counted; and the more are counted together, the cheaper is each.
LEAST = 100
_MERCHANTS = 50
_EVENTS = 2000


async def count(tx: Tx, *, least: int = LEAST) -> bool:
    """Count for the merchants that are furthest behind. Whether more may be waiting."""
    behind = {
        each.merchant_id: each.last_number for each in await backlog.find_behind(tx, least=least, most=_MERCHANTS)
    }
    if not behind:
        return False
    positions = await rollups.lock_positions(tx, Rollup.PAYMENTS, behind)
    each = max(_EVENTS // len(behind), least)
    # Somebody may have counted on since we looked, but a mark never goes back.
    new_positions = {
        merchant_id: max(position, min(behind[merchant_id], position + each))
        for merchant_id, position in positions.items()
    }
    ended = await backlog.find_ended(tx, list(positions), list(positions.values()), list(new_positions.values()))
    if ended:
        things = (
            (
                one.merchant_id,
                ids.milliseconds_of(one.id),
                CATEGORIES[Channel(one.channel), Type(one.type), Status(one.status)],
            )
            for one in ended
        )
        await rollups.add(tx, Rollup.PAYMENTS, add_up(TREE, len(CATEGORIES), things))
        await index.insert(tx, ended)
    await rollups.set_positions(tx, Rollup.PAYMENTS, new_positions)
    return new_positions != positions
