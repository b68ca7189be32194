"""Which replies of a network may wait to be written with others: only those whose loss costs a query, and no payout."""

import pytest

from malipo.networks.connector import Answer, Type, Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.worker.network_calls import may_be_written_later
from tests.payments.test_transaction import a_transaction

WAITING = Answer(verdict=Verdict.WAITING)


@pytest.mark.parametrize(
    ("type_", "source", "answer", "expected"),
    [
        (Type.COLLECTION, AnswerSource.SEND, WAITING, True),
        # Whether its network has acknowledged a payout decides whether it may be sent again.
        (Type.DISBURSEMENT, AnswerSource.SEND, WAITING, False),
        (Type.COLLECTION, AnswerSource.QUERY, WAITING, False),
        # The query needs the id.
        (Type.COLLECTION, AnswerSource.SEND, Answer(verdict=Verdict.WAITING, network_id="7"), False),
        *(
            (Type.COLLECTION, AnswerSource.SEND, Answer(verdict=verdict), False)
            for verdict in Verdict
            if verdict is not Verdict.WAITING
        ),
    ],
)
def test_only_the_reply_that_a_customer_is_being_asked_may_wait(
    type_: Type, source: AnswerSource, answer: Answer, expected: bool
) -> None:
    transaction = a_transaction(type_)
    assert may_be_written_later(transaction, source, answer, can_query=True) is expected
    assert not may_be_written_later(transaction, source, answer, can_query=False)
