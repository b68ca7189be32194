"""The categories that ended payments are counted in: one for each channel, type and end. Pure.

The numbers are stored, so their meaning never changes. New ones are added at the end.
"""

from collections.abc import Collection
from itertools import product

from malipo.networks.connector import Channel
from malipo.payments.transaction import Status, Type
from malipo.rollups.bucket_tree import Tree

# A leaf holds the payments that were made in a little over four minutes (2 ** 18 milliseconds).
TREE = Tree(leaf_bits=18)

_CHANNELS = (Channel.MPESA, Channel.TIGO_PESA, Channel.AIRTEL_MONEY, Channel.HALOPESA)

_TYPES = (Type.COLLECTION, Type.DISBURSEMENT)

_ENDS = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)

CATEGORIES = {sort: number for number, sort in enumerate(product(_CHANNELS, _TYPES, _ENDS), start=1)}


def categories_of(*, channel: Channel | None, type_: Type | None, statuses: Collection[Status]) -> list[int]:
    """The categories that match a filter; none, if it is for payments that have not ended. No status: all of them."""
    return [
        number
        for (its_channel, its_type, its_status), number in CATEGORIES.items()
        if channel in (None, its_channel) and type_ in (None, its_type) and (not statuses or its_status in statuses)
    ]
