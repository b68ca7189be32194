"""The networks' own ids of our payments, for networks whose query needs them."""

from collections.abc import Mapping

import msgspec

from malipo.db import Tx
from malipo.payments.store.transactions import Key

_encode = msgspec.json.Encoder().encode


async def keep_network_ids(tx: Tx, network_ids: Mapping[Key, str]) -> None:
    """Store the ids of transactions that the caller has locked. The first id stays: one network key is one payment."""
    if not network_ids:
        return
    await tx.execute(
        """
        UPDATE transactions t SET network_id = new.network_id
        FROM json_to_recordset($1) AS new (merchant_id text, id text, network_id text)
        WHERE t.merchant_id = new.merchant_id AND t.id = new.id AND t.network_id IS NULL
        """,
        _encode(
            [
                {"merchant_id": merchant_id, "id": id_, "network_id": network_id}
                for (merchant_id, id_), network_id in network_ids.items()
            ]
        ).decode(),
    )
