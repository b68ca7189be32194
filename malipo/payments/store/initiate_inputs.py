"""Claims the idempotency keys of requests that share a commit, locks their wallets and reads their tariffs: all in one
statement.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from malipo.db import Tx
from malipo.ledger.wallet import Wallet
from malipo.payments.fees import Band
from malipo.payments.store import idempotency_keys
from malipo.payments.store.idempotency_keys import IdempotencyKey, IdempotencyRecord
from malipo.payments.store.tariffs import TariffKey
from malipo.payments.transaction import Type
from malipo.restore.store import installation

_encode = msgspec.json.Encoder().encode

_decode_claimed = msgspec.json.Decoder(set[str]).decode
_decode_tariffs = msgspec.json.Decoder(list[tuple[str, str, str, int, int, int, int, int | None]]).decode
_decode_wallets = msgspec.json.Decoder(list[tuple[str, int, int, int, int]]).decode

# Keys are locked before wallets, as everywhere, and both in sorted order: no wallet is read until all keys are claimed.
_STATEMENT = f"""
    WITH claimed AS ({idempotency_keys.insert_new_keys_sql("$1")}),
         held AS (
             SELECT merchant_id, available, in_flight, statement_lines, owed FROM wallets
             WHERE merchant_id = ANY($3) AND (SELECT count(*) FROM claimed) >= 0
             ORDER BY merchant_id FOR UPDATE)
    SELECT (SELECT coalesce(json_agg(transaction_id), '[]') FROM claimed),
           (SELECT coalesce(json_agg(json_build_array(t.merchant_id, t.type, t.channel, t.from_amount, t.fixed_fee,
                                                      t.basis_points, t.min_fee, t.max_fee)), '[]')
            FROM json_array_elements($2) AS place
            JOIN tariffs t ON t.merchant_id = place ->> 0 AND t.type = place ->> 1 AND t.channel = place ->> 2),
           (SELECT coalesce(json_agg(json_build_array(merchant_id, available, in_flight, statement_lines, owed)), '[]')
            FROM held),
           {installation.TAKES_NO_PAYMENTS}
"""


class InitiateInputs(NamedTuple):
    won: set[IdempotencyKey]
    bands: dict[TariffKey, list[Band]]
    wallets: dict[str, Wallet]
    takes_no_payments: bool  # because of a fence or a hold: no request that moves money is accepted


async def lock_inputs(
    tx: Tx,
    wanted: Mapping[IdempotencyKey, IdempotencyRecord],
    tariff_keys: Collection[TariffKey],
    merchant_ids: Iterable[str],
) -> InitiateInputs:
    """Claim the keys that are new, and lock the wallets of these merchants, until the commit."""
    row = await tx.fetchrow(
        _STATEMENT, idempotency_keys.document_of(wanted), _encode([*tariff_keys]).decode(), sorted(set(merchant_ids))
    )
    assert row is not None
    claimed = _decode_claimed(row[0])
    bands: dict[TariffKey, list[Band]] = {}
    for merchant_id, type_, channel, from_amount, fixed_fee, basis_points, min_fee, max_fee in _decode_tariffs(row[1]):
        band = Band(from_amount, fixed_fee, basis_points, min_fee, max_fee)
        bands.setdefault((merchant_id, Type(type_), channel), []).append(band)
    return InitiateInputs(
        {key for key, claim in wanted.items() if claim.transaction_id in claimed},
        bands,
        {each[0]: Wallet(*each) for each in _decode_wallets(row[2])},
        row[3],
    )
