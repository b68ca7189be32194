"""The decision about each answer of a network, compared with a grid written by hand from the specification."""

import itertools

import pytest

from malipo.networks.connector import Verdict
from malipo.payments.network_answer.decide import decide
from malipo.payments.transaction import Status, Type
from tests.payments.network_answer.answers import (
    HEARD,
    RULES,
    in_words,
    received,
    the_dispatch_of,
)
from tests.payments.test_transaction import a_transaction

# What follows from each verdict, by the type and status of the payment and the source of the answer. The payment was sent
# once, a moment ago. After the end there is no dispatch for a callback or a reply; for an answer to a query there is one. A
# reply after a failure that may mean that the network has it comes from a worker that was paused and has sent it after all.
#
#   completed, failed   the payment ends
#   failed+             and its network is queried again in ten minutes, in case it was paid after all
#   later, now          its network is queried, on the schedule or at once
#   again               it is sent again: provably nothing was
#   suspect             an answer about a payment that we have not sent: it counts as sent, its network is queried first,
#                       and it is shown to operators
#   contradiction       the status stays; the network's float follows its report, and it is queried again
#   done                it was queried, and no more queries are needed
#   -                   nothing
GRID = """
    type          status      heard              confirmed      refused        waiting    unknown    missing    not_indexed  unsent

    COLLECTION    PENDING     send               suspect        suspect        suspect    suspect    suspect    suspect      suspect
    COLLECTION    PENDING     ask                suspect        suspect        suspect    suspect    suspect    suspect      suspect
    COLLECTION    PENDING     callback-signed    suspect        suspect        suspect    suspect    suspect    suspect      suspect
    COLLECTION    PENDING     callback-unsigned  suspect        suspect        suspect    suspect    suspect    suspect      suspect
    COLLECTION    PROCESSING  send               completed      failed         later      later      later      later        again
    COLLECTION    PROCESSING  ask                completed      failed         later      later      later      later        later
    COLLECTION    PROCESSING  callback-signed    completed      failed         later      later      later      later        later
    COLLECTION    PROCESSING  callback-unsigned  now            now            now        now        now        now          now
    COLLECTION    COMPLETED   send               -              now            -          -          -          -            -
    COLLECTION    COMPLETED   ask                done           contradiction  later      later      later      later        later
    COLLECTION    COMPLETED   callback-signed    -              now            -          -          -          -            -
    COLLECTION    COMPLETED   callback-unsigned  -              now            -          -          -          -            -
    COLLECTION    FAILED      send               contradiction  -              now        now        -          -            -
    COLLECTION    FAILED      ask                contradiction  later          later      later      later      later        later
    COLLECTION    FAILED      callback-signed    contradiction  -              -          -          -          -            -
    COLLECTION    FAILED      callback-unsigned  now            -              -          -          -          -            -
    COLLECTION    CANCELLED   send               contradiction  -              now        now        -          -            -
    COLLECTION    CANCELLED   ask                contradiction  later          later      later      later      later        later
    COLLECTION    CANCELLED   callback-signed    contradiction  -              -          -          -          -            -
    COLLECTION    CANCELLED   callback-unsigned  now            -              -          -          -          -            -

    DISBURSEMENT  PENDING     send               suspect        suspect        suspect    suspect    suspect    suspect      suspect
    DISBURSEMENT  PENDING     ask                suspect        suspect        suspect    suspect    suspect    suspect      suspect
    DISBURSEMENT  PENDING     callback-signed    suspect        suspect        suspect    suspect    suspect    suspect      suspect
    DISBURSEMENT  PENDING     callback-unsigned  suspect        suspect        suspect    suspect    suspect    suspect      suspect
    DISBURSEMENT  PROCESSING  send               completed      failed+        later      later      later      later        again
    DISBURSEMENT  PROCESSING  ask                completed      failed+        later      later      later      later        later
    DISBURSEMENT  PROCESSING  callback-signed    completed      failed+        later      later      later      later        later
    DISBURSEMENT  PROCESSING  callback-unsigned  now            now            now        now        now        now          now
    DISBURSEMENT  COMPLETED   send               -              now            -          -          -          -            -
    DISBURSEMENT  COMPLETED   ask                done           contradiction  later      later      later      later        later
    DISBURSEMENT  COMPLETED   callback-signed    -              now            -          -          -          -            -
    DISBURSEMENT  COMPLETED   callback-unsigned  -              now            -          -          -          -            -
    DISBURSEMENT  FAILED      send               contradiction  -              now        now        -          -            -
    DISBURSEMENT  FAILED      ask                contradiction  later          later      later      later      later        later
    DISBURSEMENT  FAILED      callback-signed    contradiction  -              -          -          -          -            -
    DISBURSEMENT  FAILED      callback-unsigned  now            -              -          -          -          -            -
    DISBURSEMENT  CANCELLED   send               contradiction  -              now        now        -          -            -
    DISBURSEMENT  CANCELLED   ask                contradiction  later          later      later      later      later        later
    DISBURSEMENT  CANCELLED   callback-signed    contradiction  -              -          -          -          -            -
    DISBURSEMENT  CANCELLED   callback-unsigned  now            -              -          -          -          -            -
"""


HEADER, *ROWS = [line.split() for line in GRID.splitlines() if line.strip()]
CELLS = [
    (Type(type_), Status(status), received, Verdict(verdict), cell)
    for type_, status, received, *cells in ROWS
    for verdict, cell in zip(HEADER[3:], cells, strict=True)
]


@pytest.mark.parametrize(("type_", "status", "how", "verdict", "expected"), CELLS)
def test_an_answer_leads_where_the_grid_says(
    type_: Type, status: Status, how: str, verdict: Verdict, expected: str
) -> None:
    act, is_trusted = HEARD[how]
    given_ = the_dispatch_of(status, act)

    decision = decide(a_transaction(type_, status), given_, received(verdict, act, is_trusted=is_trusted), RULES)

    assert in_words(given_, decision) == expected
    assert (decision.failure_code is not None) == expected.startswith("failed")
    if not status.is_final and verdict is Verdict.CONFIRMED and decision.dispatch is not None:
        assert decision.dispatch.is_success_reported, "a reported success is never forgotten"


def test_the_grid_leaves_no_cell_out() -> None:
    assert len(CELLS) == len({cell[:4] for cell in CELLS})
    assert {cell[:4] for cell in CELLS} == set(itertools.product(Type, Status, HEARD, Verdict))
