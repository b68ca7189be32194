"""When a network is queried again."""

from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource, QueryRules
from malipo.payments.network_answer.decide import decide
from tests.payments.network_answer.answers import RULES, Life, processing, received, sent


def test_queries_follow_the_schedule_and_its_last_pause_repeats() -> None:
    life = Life(processing())
    waits = [life.report(received(Verdict.WAITING, AnswerSource.SEND)).wait_seconds]
    waits += [life.report(received(verdict)).wait_seconds for verdict in (Verdict.WAITING, Verdict.UNKNOWN) * 3]
    assert waits == [10, 60, 300, 300, 300, 300, 300]


def test_a_schedule_of_one_pause_repeats_it() -> None:
    rules = QueryRules(poll_seconds=(7,), not_found_seconds=300)
    for asks in range(3):
        assert decide(processing(), sent(query_count=asks), received(Verdict.UNKNOWN), rules).wait_seconds == 7


def test_a_callback_does_not_move_the_schedule_on() -> None:
    decision = decide(processing(), sent(query_count=1), received(Verdict.WAITING, AnswerSource.CALLBACK), RULES)
    assert decision.dispatch is not None
    assert (decision.dispatch.query_count, decision.wait_seconds) == (1, 60)
