"""The payments of a run as its database has them, for the oracle."""

from dataclasses import dataclass

from simulation.database import SimulatedDatabase
from simulation.postgres_gate import EPOCH


@dataclass(frozen=True)
class PaymentRow:
    id: str
    merchant_id: str
    type: str
    channel: str
    status: str
    amount: int
    phone: str
    key: str
    floated: int  # what the ledger says moved at the network, in shillings
    processing_at: float | None  # seconds since the run began, by the clock of the worker that claimed it
    ended_at: float | None
    is_refund: bool
    is_borne: bool  # operators have decided against the network's last report: the difference is booked to losses


def find(database: SimulatedDatabase) -> list[PaymentRow]:
    """All of them, oldest first."""
    found = database.look().ask(
        """
        SELECT id, merchant_id, type, channel, status, amount, phone, network_key, (
            SELECT coalesce(sum(CASE WHEN source = 'float' THEN amount ELSE -amount END), 0) FROM moves m
            WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND 'float' IN (source, target)
        ), EXISTS (
            SELECT FROM corrections c WHERE c.merchant_id = t.merchant_id AND c.transaction_id = t.id AND borne != 0
        ), date_part('epoch', processing_at), date_part('epoch', ended_at), refund_of IS NOT NULL
        FROM transactions t ORDER BY id
        """
    )
    return [
        PaymentRow(
            id=str(id_),
            merchant_id=str(merchant_id),
            type=str(type_),
            channel=str(channel),
            status=str(status),
            amount=int(amount or 0),
            phone=str(phone),
            key=str(key),
            floated=int(floated or 0),
            is_borne=is_borne == "t",
            processing_at=_seconds(processing_at),
            ended_at=_seconds(ended_at),
            is_refund=is_refund == "t",
        )
        for (
            id_,
            merchant_id,
            type_,
            channel,
            status,
            amount,
            phone,
            key,
            floated,
            is_borne,
            processing_at,
            ended_at,
            is_refund,
        ) in found
    ]


def _seconds(epoch: str | None) -> float | None:
    return None if epoch is None else float(epoch) - EPOCH.timestamp()
