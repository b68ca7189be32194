"""Counts payments that have ended and makes them findable, after the fact: in the order of the feed, each once.

Readers look at what is not counted yet themselves (`store/uncounted.py`). So nothing here is in a hurry, and no payment
waits for it.
"""

from malipo import ids
from malipo.db import Tx
from malipo.networks.contract import Channel
from malipo.payments.cells import CELLS, TREE
from malipo.payments.store import searches, uncounted
from malipo.payments.transaction import Status, Type
from malipo.tally import store as tallies
from malipo.tally.store import Book
from malipo.tally.tree import add_up

# Fewer than this are quicker looked at than counted; and the more are counted together, the cheaper is each.
LEAST = 100
_MERCHANTS = 50
_EVENTS = 2000


async def count(tx: Tx, *, least: int = LEAST) -> bool:
    """Count for the merchants that are furthest behind. Whether more may be waiting."""
    behind = {each.merchant_id: each.last for each in await uncounted.find_behind(tx, least=least, most=_MERCHANTS)}
    if not behind:
        return False
    marks = await tallies.lock_marks(tx, Book.PAYMENTS, behind)
    each = max(_EVENTS // len(behind), least)
    # Somebody may have counted on since we looked, but a mark never goes back.
    upto = {merchant_id: max(mark, min(behind[merchant_id], mark + each)) for merchant_id, mark in marks.items()}
    ended = await uncounted.find_ended(tx, list(marks), list(marks.values()), list(upto.values()))
    if ended:
        things = (
            (
                one.merchant_id,
                ids.milliseconds_of(one.id),
                CELLS[Channel(one.channel), Type(one.type), Status(one.status)],
            )
            for one in ended
        )
        await tallies.add(tx, Book.PAYMENTS, add_up(TREE, len(CELLS), things))
        await searches.insert(tx, ended)
    await tallies.set_marks(tx, Book.PAYMENTS, upto)
    return upto != marks
