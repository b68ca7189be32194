"""A network with a book of its own: what really moved. It answers requests and questions, and says things by itself.

Written from what is known of real networks, and not from how malipo reads them.
"""

from collections.abc import Iterator

import msgspec

from malipo.networks.connector import Answer, FailureCode, Type, Verdict
from tests.model.scenario import Duplicates, Fault, Kind, Nature, Scenario

AMOUNT = 1000
PROMPT_SECONDS = 20.0
WIRE_SECONDS = 1.0
TIMEOUT_SECONDS = 30.0

_LOST = Answer(verdict=Verdict.UNKNOWN, code="lost", is_fault=True)
_PAYS_LATER = (Kind.PAID_AFTER_FAILED, Kind.PAID_AFTER_FAILED_SILENTLY)
_GOES_BACK = (Kind.TAKEN_BACK, Kind.TAKEN_BACK_SILENTLY)
_FAILS = (Kind.DECLINES, Kind.EXPIRES, *_PAYS_LATER)


class Turn(msgspec.Struct, frozen=True):
    """From a time on, an order that was taken in stands so."""

    at: float
    verdict: Verdict
    failure: FailureCode | None = None
    is_silent: bool = False


class Said(msgspec.Struct, frozen=True):
    """A callback, and when it reaches us."""

    at: float
    answer: Answer
    is_signed: bool
    is_listed: bool


class Network:
    def __init__(self, scenario: Scenario) -> None:
        self.nature: Nature = scenario.nature
        self._faults = scenario.faults
        self._orders: list[tuple[float, list[Turn]]] = []  # when each was taken in, and what became of it
        self.amount = AMOUNT + 500 if self._has(Kind.OTHER_AMOUNT) else AMOUNT

    def moved(self, now: float) -> int:
        """How many times the money has moved, and not back, by the network's book."""
        return sum(_turn_at(turns, now).verdict is Verdict.CONFIRMED for _, turns in self._orders)

    def ever_moved(self, now: float) -> bool:
        return any(each.verdict is Verdict.CONFIRMED and each.at <= now for _, turns in self._orders for each in turns)

    @property
    def times_charged(self) -> int:
        """How many orders ever moved money."""
        return sum(any(each.verdict is Verdict.CONFIRMED for each in turns) for _, turns in self._orders)

    @property
    def quiet_at(self) -> float:
        """After this nothing changes any more."""
        turns = [each.at for _, turns in self._orders for each in turns]
        windows = [fault.at + fault.seconds for fault in self._faults if fault.kind.name.startswith("QUERY")]
        late = [at + fault.seconds for at, _ in self._orders for fault in self._faults]
        return max([0.0, *turns, *windows, *late])

    def take_in(self, at: float) -> tuple[Answer, float, list[Said]]:
        """A request arrives. The reply, when it leaves, and what will be said by callbacks."""
        known = [since for since, _ in self._orders if not self._is_forgotten(since, at)]
        if known and self.nature.duplicates is Duplicates.REFUSED:
            verdict = Verdict.REFUSED if self.nature.refuses_repeats else Verdict.UNKNOWN
            return _refusal(verdict, "duplicate"), at + WIRE_SECONDS, []
        turns = list(self._turns(at))
        self._orders.append((at, turns))
        decided = turns[1] if len(turns) > 1 else None
        reply, leaves_at = Answer(verdict=Verdict.WAITING, code="accepted"), at + WIRE_SECONDS
        if self.nature.is_synchronous:
            if decided is None or decided.at > at + TIMEOUT_SECONDS:
                reply, leaves_at = _LOST, at + TIMEOUT_SECONDS
            else:
                reply, leaves_at = self._word(decided), decided.at
        return reply, leaves_at, list(self._callbacks(turns))

    def ask(self, now: float) -> Answer:
        """What became of it."""
        if not self.nature.has_query:
            return Answer(verdict=Verdict.UNKNOWN, code="no query")
        if self._during(Kind.QUERY_DOWN, now):
            return _LOST
        if self._during(Kind.QUERY_REFUSES_US, now):
            return Answer(verdict=Verdict.UNKNOWN, code="credentials", refuses_us=True, alert="credentials")
        found = [
            turns
            for since, turns in self._orders
            if not self._is_forgotten(since, now) and now >= since + self._seconds(Kind.INDEXED_LATE)
        ]
        if not found or self._during(Kind.QUERY_LOSES_IT, now):
            return Answer(verdict=self.nature.not_found, code="not found")
        turn = max((_turn_at(turns, now) for turns in found), key=lambda each: each.verdict is Verdict.CONFIRMED)
        if turn.verdict is Verdict.WAITING or self._during(Kind.QUERY_IN_PROGRESS, now):
            return Answer(verdict=Verdict.WAITING, code="in progress")
        answer = self._word(turn)
        if self._has(Kind.QUERY_WITHOUT_AMOUNT):
            return msgspec.structs.replace(answer, amount=None, lacks_amount=turn.verdict is Verdict.CONFIRMED)
        return answer

    def _turns(self, at: float) -> Iterator[Turn]:
        yield Turn(at, Verdict.WAITING)
        if self._has(Kind.NEVER_DECIDES):
            return
        at += max(PROMPT_SECONDS, self._seconds(Kind.DECIDES_LATE))
        if any(self._has(kind) for kind in _FAILS):
            failure = FailureCode.EXPIRED if self._has(Kind.EXPIRES) else FailureCode.DECLINED
            if self.nature.type is Type.DISBURSEMENT:
                failure = FailureCode.INVALID_RECIPIENT
            yield Turn(at, Verdict.REFUSED, failure)
            if not any(self._has(kind) for kind in _PAYS_LATER):
                return
            at += max(self._seconds(kind) for kind in _PAYS_LATER)
            yield Turn(at, Verdict.CONFIRMED, is_silent=self._has(Kind.PAID_AFTER_FAILED_SILENTLY))
        else:
            yield Turn(at, Verdict.CONFIRMED)
        if any(self._has(kind) for kind in _GOES_BACK):
            at += max(self._seconds(kind) for kind in _GOES_BACK)
            yield Turn(at, Verdict.REFUSED, FailureCode.REJECTED, is_silent=self._has(Kind.TAKEN_BACK_SILENTLY))

    def _word(self, turn: Turn) -> Answer:
        if turn.verdict is Verdict.REFUSED:
            return Answer(verdict=turn.verdict, code="failed", failure_code=turn.failure)
        return Answer(verdict=turn.verdict, code="paid", provider_reference="R1", amount=self.amount)

    def _callbacks(self, turns: list[Turn]) -> Iterator[Said]:
        for nth, turn in enumerate(each for each in turns[1:] if not each.is_silent):
            if self._has(Kind.CALLBACK_LOST, nth):
                continue
            said = Said(
                turn.at + WIRE_SECONDS + self._seconds(Kind.CALLBACK_LATE, nth),
                self._callback_word(turn, nth),
                self.nature.is_signed,
                self.nature.is_listed,
            )
            yield said
            if self._has(Kind.CALLBACK_TWICE, nth):
                yield msgspec.structs.replace(said, at=said.at + self._seconds(Kind.CALLBACK_TWICE, nth))

    def _callback_word(self, turn: Turn, nth: int) -> Answer:
        word = self._word(turn)
        if turn.verdict is not Verdict.CONFIRMED:
            return word
        if not self.nature.names_amount:
            return msgspec.structs.replace(word, amount=None)
        if self._has(Kind.CALLBACK_WITHOUT_AMOUNT, nth):
            return msgspec.structs.replace(word, amount=None, lacks_amount=True)
        if self._has(Kind.CALLBACK_OTHER_AMOUNT, nth):
            return msgspec.structs.replace(word, amount=self.amount + 1)
        return word

    def _is_forgotten(self, since: float, now: float) -> bool:
        return self._has(Kind.FORGETS) and now >= since + self._seconds(Kind.FORGETS)

    def _during(self, kind: Kind, now: float) -> bool:
        return any(fault.at <= now < fault.at + fault.seconds for fault in self._faults if fault.kind is kind)

    def _of(self, kind: Kind, nth: int | None) -> list[Fault]:
        return [each for each in self._faults if each.kind is kind and (nth is None or each.nth == nth)]

    def _has(self, kind: Kind, nth: int | None = None) -> bool:
        return bool(self._of(kind, nth))

    def _seconds(self, kind: Kind, nth: int | None = None) -> float:
        return max((fault.seconds for fault in self._of(kind, nth)), default=0.0)


def refused_at_the_door() -> Answer:
    return _refusal(Verdict.REFUSED, "limit")


def lost() -> Answer:
    return _LOST


def _refusal(verdict: Verdict, code: str) -> Answer:
    failure = FailureCode.LIMIT_EXCEEDED if verdict is Verdict.REFUSED else None
    return Answer(verdict=verdict, code=code, failure_code=failure)


def _turn_at(turns: list[Turn], now: float) -> Turn:
    return [each for each in turns if each.at <= now][-1] if turns[0].at <= now else turns[0]
