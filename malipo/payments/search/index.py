"""The search index. Written when payments are counted, and never changed."""

from collections.abc import Sequence

import msgspec

from malipo.db import Tx
from malipo.payments.rollups.backlog import EndedPayment
from malipo.payments.search.ngrams import ngrams_of

_encode = msgspec.json.Encoder().encode


async def insert(tx: Tx, ended: Sequence[EndedPayment]) -> None:
    rows = [
        {
            "merchant_id": each.merchant_id,
            "id": each.id,
            "search_text": each.search_text,
            "ngrams": ngrams_of(each.merchant_id, each.search_text),
        }
        for each in ended
    ]
    await tx.execute(
        """
        INSERT INTO search_index (merchant_id, id, search_text, ngrams)
        SELECT merchant_id, id, search_text, ngrams
        FROM json_to_recordset($1) AS new (merchant_id text, id text, search_text text, ngrams integer[])
        """,
        _encode(rows).decode(),
    )
