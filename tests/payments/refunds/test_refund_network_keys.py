"""The network keys of refunds: those that a restore has lost have the same ones when they are repeated."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.payments.refunds.refund_network_keys import RefundKeys
from malipo.payments.transaction import Transaction, Type
from tests.journeys.concurrency import order

KEYS = RefundKeys(b"secret", None)


def collection() -> Transaction:
    draft = order("mer_1", Type.COLLECTION, 5000).draft
    assert draft is not None
    return draft


def test_the_next_refund_has_the_first_network_key_that_none_has() -> None:
    """After a restore a later one may have been adopted before an earlier one is repeated."""
    of = collection()
    keys = [KEYS.key_of(of, number) for number in (1, 2, 3)]
    assert len(set(keys)) == 3
    for taken, expected in ((set(), 0), ({0}, 1), ({1}, 0), ({0, 1}, 2), ({0, 2}, 1), ({1, 2}, 0)):
        assert KEYS.next_key(of, {keys[each] for each in taken}) == keys[expected]


# What a refund's key follows from: (since when it follows from the network key, that of the collection) -> the same key
# under another id, the same key under another network key.
@pytest.mark.parametrize(
    ("since", "is_same_under_another_id", "is_same_under_another_network_key"),
    [
        (None, True, False),
        (timedelta(0), True, False),
        (timedelta(hours=-1), True, False),
        (timedelta(hours=1), False, True),
    ],
)
def test_keys_follow_from_the_network_key_of_a_collection_and_of_older_ones_from_the_id(
    since: timedelta | None, is_same_under_another_id: bool, is_same_under_another_network_key: bool
) -> None:
    of = collection()
    keys = RefundKeys(b"secret", None if since is None else of.created_at + since)
    assert (keys.key_of(replace(of, id="txn_other"), 1) == keys.key_of(of, 1)) is is_same_under_another_id
    other = replace(of, network_key="0123456789ABCDEF")
    assert (keys.key_of(other, 1) == keys.key_of(of, 1)) is is_same_under_another_network_key


def test_another_merchant_or_another_installation_has_other_keys() -> None:
    of = collection()
    assert KEYS.key_of(replace(of, merchant_id="mer_2"), 1) != KEYS.key_of(of, 1)
    assert RefundKeys(b"other", None).key_of(of, 1) != KEYS.key_of(of, 1)


def test_a_key_is_recognized_as_that_of_a_refund() -> None:
    of = collection()
    assert KEYS.is_key_of(of, KEYS.key_of(of, 100))
    assert not KEYS.is_key_of(of, KEYS.key_of(of, 101)), "there is an end of refunds"
    assert not KEYS.is_key_of(replace(of, network_key="0123456789ABCDEF"), KEYS.key_of(of, 1))
    assert not RefundKeys(b"secret", clock.now() + timedelta(days=1)).is_key_of(of, KEYS.key_of(of, 1))
