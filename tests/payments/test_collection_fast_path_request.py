"""The quick reading of a request for a collection, held against the one that reads field by field, on random bodies."""

import itertools
import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from malipo import clock
from malipo.api.request_body import object_in
from malipo.errors import Invalid
from malipo.payments.collection_fast_path_request import fast_request_of
from malipo.payments.initiate import PaymentRequest
from malipo.payments.payment_request import PaymentTerms, payment_request_of
from malipo.payments.transaction import Type
from malipo.settings import Settings
from malipo.validation.fields import Fields
from tests.conftest import COLLECTION

NOW = clock.now()
TERMS = PaymentTerms.of(Settings())
FULL = COLLECTION | {
    "buyerName": "Asha wa Juma é 😀",
    "description": "Sukari",
    "metadata": {"order": "A-1", "n": 5, "x": 1.5, "yes": True, "none": None, "a" * 40: "b" * 500},
    "currency": "TZS",
    "orderReference": "Oda 7",
}

_EDGES: list[Any] = [
    *("x" * length for length in (0, 1, 40, 41, 64, 65, 100, 101, 255, 256, 500, 501)),
    *("a\0", "a\x1f", "a\x7f", "a\nb", "a\tb", "a\x85", "a\u2028", "é", "😀", "\ud800", '"', "\\", "a/b"),
    *(499, 500, 500.0, 5_000_000, 10**9, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**40, True, False, None, [], {}),
    *("MPESA", "mpesa", "TZS", "USD", "+255754000001", "+255554000001", "+2557540000012", "+255754000001\n"),
]
_TEXTS = some.text(max_size=6) | some.sampled_from([each for each in _EDGES if isinstance(each, str)])
_NUMBERS = some.integers(-5, 6_000_000) | some.sampled_from(
    [499, 500, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**40]
)
_VALUES = _TEXTS | _NUMBERS | some.booleans() | some.none() | some.floats(allow_nan=False, allow_infinity=False)
_ANYTHING = _VALUES | some.lists(_VALUES, max_size=2) | some.dictionaries(_TEXTS, _VALUES, max_size=3)
_PHONES = some.sampled_from(
    ["+255754000001", "+255654000001", "+255554000001", "+25575400000", "+2557540000011", "0754000001"]
)
_FIELDS = {
    "amount": _NUMBERS | some.just(1000.0),
    "channel": some.sampled_from(["MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA", "mpesa", "VISA"]),
    "buyerPhone": _PHONES,
    "buyerName": _TEXTS,
    "description": _TEXTS,
    "metadata": some.dictionaries(_TEXTS, _VALUES, max_size=4) | some.just({str(n): n for n in range(51)}),
    "currency": some.sampled_from(["TZS", "USD", ""]),
    "orderReference": _TEXTS,
    "recipientPhone": _PHONES,
    "unknown": _ANYTHING,
}


@some.composite
def bodies(draw: some.DrawFn) -> bytes:
    """Mostly right requests, of which some things are not; written as JSON in one of its ways, and sometimes broken."""
    body: dict[str, Any] = dict(FULL) if draw(some.booleans()) else dict(COLLECTION)
    for name in draw(some.lists(some.sampled_from(sorted(_FIELDS)), max_size=3)):
        if draw(some.integers(0, 4)):
            body[name] = draw(_FIELDS[name])
        elif draw(some.booleans()):
            body.pop(name, None)
        else:
            body[name] = draw(_ANYTHING)
    shuffled = draw(some.permutations(list(body)))
    text = json.dumps({name: body[name] for name in shuffled}, ensure_ascii=draw(some.booleans()))
    if draw(some.integers(0, 9)) == 0:
        text = text[:-1] + ', "amount": ' + json.dumps(draw(_ANYTHING)) + "}"  # twice: the last one counts
    written = text.encode("utf-8", "surrogatepass")
    if draw(some.integers(0, 3)) == 0:
        at = draw(some.integers(0, len(written) - 1))
        written = written[:at] + draw(some.binary(max_size=2)) + written[at + draw(some.integers(0, 2)) :]
    return written


def _usual(body: bytes) -> PaymentRequest | None:
    """None where the body is no JSON, or nested too deeply."""
    try:
        return payment_request_of(
            Fields(object_in(body)), Type.COLLECTION, "mer_1", key="key-1", terms=TERMS, now=NOW, created_by="key_1"
        )
    except Invalid:
        return None


def _quick(body: bytes) -> PaymentRequest | None:
    return fast_request_of(
        body,
        "mer_1",
        key="key-1",
        network_key="0123456789ABCDEF",
        terms=TERMS,
        now=NOW,
        created_by="key_1",
        is_key_checked=True,
    )


def _without_ids(order: PaymentRequest) -> PaymentRequest:
    assert order.draft is not None
    same = replace(order.draft, id="", reference="", network_key="", is_key_derived=False)
    return replace(order, draft=same)


def _agree(body: bytes) -> None:
    quick = _quick(body)
    if quick is not None:
        usual = _usual(body)
        assert usual is not None
        assert usual.problem is None
        assert _without_ids(quick) == _without_ids(usual)
        assert msgspec.json.encode(quick.draft and quick.draft.metadata) == msgspec.json.encode(
            usual.draft and usual.draft.metadata
        )


@settings(max_examples=400, deadline=None)
@given(bodies())
def test_whatever_is_read_quickly_is_read_alike_field_by_field(body: bytes) -> None:
    _agree(body)


@pytest.mark.parametrize("name", sorted(_FIELDS))
def test_the_edges_of_each_field_are_read_alike(name: str) -> None:
    for edge, is_ascii in itertools.product(_EDGES, (True, False)):
        for value in (edge, {"a": edge}, {edge: 1} if isinstance(edge, str) else edge):
            _agree(json.dumps(FULL | {name: value}, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("body", [COLLECTION, FULL, {name: FULL[name] for name in reversed(FULL)}])
def test_usual_requests_are_read_quickly(body: dict[str, Any]) -> None:
    quick = _quick(json.dumps(body, ensure_ascii=False).encode())
    assert quick is not None
    assert quick.draft is not None
    assert quick.draft.is_key_derived
    assert quick.draft.network_key == "0123456789ABCDEF"
    assert quick.draft.reference.endswith("-0123456789ABCDEF")


def test_random_bytes_are_read_by_neither() -> None:
    generator = random.Random(34)
    for _ in range(500):
        assert _quick(generator.randbytes(40)) is None
