"""Corrections of payments that have ended. Only `status_writer.py` may call what writes here."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.db import Conn, Row, Tx
from malipo.payments.correction_moves import Correction, is_open
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import CorrectionNotice, Transaction

_encode = msgspec.json.Encoder().encode
_decode_notice = msgspec.json.Decoder(CorrectionNotice).decode

COLUMNS = "c.is_paid, c.source, c.is_fee_paid, c.credited, c.borne, c.owed, c.ordinal, c.told, c.latest"

Key = tuple[str, str]  # a merchant's id and a transaction's


def correction_of(row: Row) -> Correction | None:
    if row["is_paid"] is None:
        return None
    return Correction(
        is_paid=row["is_paid"],
        source=None if row["source"] is None else AnswerSource(row["source"]),
        is_fee_paid=row["is_fee_paid"],
        credited=row["credited"],
        borne=row["borne"],
        owed=row["owed"],
        ordinal=row["ordinal"],
        notice_count=row["told"],
        latest=notice_of(row["latest"]),
    )


def notice_of(latest: str | None) -> CorrectionNotice | None:
    return None if latest is None else _decode_notice(latest)


async def find(connection: Conn, keys: Collection[Key]) -> dict[Key, Correction]:
    """The corrections of these transactions, which the caller has locked."""
    if not keys:
        return {}
    rows = await connection.fetch(
        f"""
        SELECT c.merchant_id, c.transaction_id, {COLUMNS} FROM corrections c
        WHERE (c.merchant_id, c.transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    found = {(row["merchant_id"], row["transaction_id"]): correction_of(row) for row in rows}
    return {key: each for key, each in found.items() if each is not None}


async def write(tx: Tx, corrected: Sequence[tuple[Transaction, Correction]], *, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO corrections AS c (merchant_id, transaction_id, is_paid, source, is_fee_paid, credited, borne, owed,
                                      ordinal, told, is_open, since, latest)
        SELECT merchant_id, transaction_id, said.*, is_open, $2, latest
        FROM json_to_recordset($1) AS new (
                 merchant_id text, transaction_id text, is_open boolean, latest json, correction json),
             json_to_record(new.correction) AS said (
                 is_paid boolean, source text, is_fee_paid boolean, credited bigint, borne bigint, owed bigint,
                 ordinal smallint, told smallint)
        ON CONFLICT (merchant_id, transaction_id) DO UPDATE
        SET is_paid = excluded.is_paid, source = excluded.source, is_fee_paid = excluded.is_fee_paid,
            credited = excluded.credited, borne = excluded.borne, owed = excluded.owed, ordinal = excluded.ordinal,
            told = excluded.told, is_open = excluded.is_open, latest = excluded.latest,
            since = CASE WHEN excluded.is_open = c.is_open THEN c.since ELSE excluded.since END
        """,
        _encode(
            [
                {
                    "merchant_id": transaction.merchant_id,
                    "transaction_id": transaction.id,
                    "is_open": is_open(transaction, correction),
                    "latest": correction.latest,
                    "correction": replace(correction, latest=None),
                }
                for transaction, correction in corrected
            ]
        ).decode(),
        now,
    )
