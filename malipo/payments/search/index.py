"""The search index. Written when payments are counted, and never changed."""

from collections.abc import Sequence

import msgspec

from malipo.db import Tx
from malipo.payments.counts.backlog import Ended
from malipo.payments.search.ngrams import ngrams_of

_encode = msgspec.json.Encoder().encode


async def insert(tx: Tx, ended: Sequence[Ended]) -> None:
    rows = [
        {
            "merchant_id": each.merchant_id,
            "id": each.id,
            "searchable": each.searchable,
            "windows": ngrams_of(each.merchant_id, each.searchable),
        }
        for each in ended
    ]
    await tx.execute(
        """
        INSERT INTO searches (merchant_id, id, searchable, windows)
        SELECT merchant_id, id, searchable, windows
        FROM json_to_recordset($1) AS new (merchant_id text, id text, searchable text, windows integer[])
        """,
        _encode(rows).decode(),
    )
