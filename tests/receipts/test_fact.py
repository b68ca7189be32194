"""Facts: what each event says, by a table written by hand, and the text and the commitment of a fact."""

import hashlib
import json

import pytest

from malipo.outbox.event import Event
from malipo.receipts.fact import (
    Kind,
    Merchant,
    ReportedCorrection,
    ReportedPayment,
    commitment_of,
    decode,
    encode,
    fact_of,
    is_canonical,
)

SHOP = Merchant("mer_1", "Duka la Asha", "Asha Mushi", "123456789")
PAID = ReportedPayment(
    id="txn_1",
    reference="MLP-1",
    type="COLLECTION",
    amount=1000,
    channel="MPESA",
    created_at="2026-11-19T04:00:00.000Z",
    buyer_phone="+255754000100",
    provider_reference="BJ1",
    completed_at="2026-11-19T04:00:05.000Z",
)
SENT = ReportedPayment(
    id="txn_2",
    reference="MLP-2",
    type="DISBURSEMENT",
    amount=700,
    channel="AIRTEL_MONEY",
    created_at="2026-11-19T04:00:00.000Z",
    recipient_phone="+255684000123",
    completed_at="2026-11-19T04:00:06.000Z",
)
WRONG = ReportedCorrection("FAILED", "2026-11-20T04:00:00.000Z")

# Which events belong into the log, and as what: those of a refund's collection are told by the refund's own.
KINDS = {
    Event.PAYMENT_PENDING: None,
    Event.PAYMENT_COMPLETED: Kind.COMPLETED,
    Event.PAYMENT_FAILED: None,
    Event.PAYMENT_CANCELLED: None,
    Event.PAYMENT_CORRECTED: Kind.CORRECTED,
    Event.PAYMENT_REFUNDED: None,
    Event.PAYOUT_COMPLETED: Kind.COMPLETED,
    Event.PAYOUT_FAILED: None,
    Event.PAYOUT_CANCELLED: None,
    Event.PAYOUT_CORRECTED: Kind.CORRECTED,
    Event.BATCH_COMPLETED: None,
    Event.LINK_PAID: None,
    Event.LINK_LATE: None,
    Event.SETTLEMENT_COMPLETED: None,
    Event.SETTLEMENT_RETURNED: None,
}


def test_the_table_has_every_event() -> None:
    assert KINDS.keys() == set(Event)


@pytest.mark.parametrize("event", Event)
def test_which_events_belong_into_the_log(event: Event) -> None:
    fact = fact_of(event, PAID, SHOP)
    assert (None if fact is None else fact.fact) == KINDS[event]


def test_the_text_of_a_completed_payment() -> None:
    fact = fact_of(Event.PAYMENT_COMPLETED, PAID, SHOP)
    assert fact is not None
    assert encode(fact) == (
        '{"amount":1000,"at":"2026-11-19T04:00:05.000Z","channel":"MPESA","currency":"TZS","fact":"completed",'
        '"merchant":"mer_1","merchantName":"Duka la Asha","merchantRegisteredName":"Asha Mushi","merchantTin":"123456789","networkReceipt":"BJ1",'
        '"payment":"txn_1","phone":"+2557*****100","reference":"MLP-1","type":"COLLECTION","version":1}'
    )


def test_the_fact_of_a_refund_is_about_its_collection() -> None:
    refund = ReportedPayment(**{name: getattr(SENT, name) for name in SENT.__struct_fields__} | {"refund_of": "txn_1"})
    fact = fact_of(Event.PAYOUT_COMPLETED, refund, SHOP)
    assert fact is not None
    assert (fact.fact, fact.payment, fact.refund, fact.subject) == (Kind.REFUNDED, "txn_1", "txn_2", "txn_2")


def test_a_correction_says_what_is_true_now_and_nothing_of_what_the_merchant_owes() -> None:
    recorded = ReportedPayment(**{name: getattr(PAID, name) for name in PAID.__struct_fields__} | {"correction": WRONG})
    fact = fact_of(Event.PAYMENT_CORRECTED, recorded, Merchant("mer_1", "Duka"), ordinal=2)
    assert fact is not None
    assert json.loads(encode(fact)) == {
        "fact": "corrected",
        "version": 1,
        "outcome": "FAILED",
        "ordinal": 2,
        "at": "2026-11-20T04:00:00.000Z",
        "payment": "txn_1",
        "reference": "MLP-1",
        "type": "COLLECTION",
        "amount": 1000,
        "currency": "TZS",
        "channel": "MPESA",
        "networkReceipt": "BJ1",
        "phone": "+2557*****100",
        "merchant": "mer_1",
        "merchantName": "Duka",
    }


@pytest.mark.parametrize("name", ["Duka la “Asha” & Söhne", 'A "B" \\ C', "a\nb\x7f\x1f", "😀 </script>"])
def test_the_text_is_canonical_json(name: str) -> None:
    fact = fact_of(Event.PAYMENT_COMPLETED, PAID, Merchant("mer_1", name))
    assert fact is not None
    text = encode(fact)
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False) == text
    assert decode(text) == fact
    assert is_canonical(text)
    assert not is_canonical(text.replace(":1000", ": 1000"))
    assert not is_canonical(text.replace('"amount":1000', '"amount":1000,"amount":1000'))
    assert not is_canonical(text.replace('"version":1', '"version":1,"z":1'))


def test_the_commitment_is_a_hash_of_salt_and_text() -> None:
    salt = bytes(range(32))
    assert commitment_of(salt, "é") == hashlib.sha256(salt + b"\xc3\xa9").digest()
