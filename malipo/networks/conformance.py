"""Conformance tests: what every connector must do against the simulator, or a network's sandbox.

The checks run in order and are reported one by one. They move a small amount, so they are for a sandbox; they use no
database, and write nothing on our side.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from msgspec.structs import replace

from malipo import clock, randomness
from malipo.networks.channel_names_and_prefixes import channel_of
from malipo.networks.connector import (
    Answer,
    Connector,
    LooksUpNames,
    PaymentInstruction,
    ReadsBalance,
    Resubmit,
    Type,
    Verdict,
)
from malipo.networks.statement_source import CannotFetch, StatementSource

_KEY_CHARACTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAUSE_SECONDS = 2.0


class ConformanceCheck(NamedTuple):
    what: str
    is_good: bool
    said: str  # what the network answered


async def verify(
    connector: Connector, types: Sequence[Type], *, phone: str, amount: int, patience_seconds: float
) -> AsyncIterator[ConformanceCheck]:
    """Every check, as soon as it is done. After one that fails, those that depend on it are left out."""
    probe = await connector.probe()
    is_admitted = not probe.is_fault and probe.alert is None
    yield ConformanceCheck("it lets us in", is_admitted, _in_words(probe))
    if not is_admitted:
        return
    if isinstance(connector, ReadsBalance):  # Not every network has a call for it.
        balance = await connector.balance()
        detail = f"TZS {balance.amount:,}" if balance.amount is not None else f"{balance.code} {balance.detail}".strip()
        yield ConformanceCheck("it says what it holds for us", balance.amount is not None, detail)
    if isinstance(connector, LooksUpNames) and (channel := channel_of(phone)) and connector.looks_up(channel):
        found = await connector.look_up(channel, phone)
        is_known = found.name is not None or found.is_registered is not None
        detail = "it has a name" if found.name else f"{found.code} {found.detail}".strip()  # A name is printed nowhere.
        yield ConformanceCheck("it tells whose number this is", is_known, detail)
    for type_ in types:
        async for check in _verify_type(connector, type_, phone, amount, patience_seconds):
            yield check
    if isinstance(connector, StatementSource):  # Nor has every one its statement.
        yield await _verify_statement(connector)


async def _verify_statement(source: StatementSource) -> ConformanceCheck:
    """Checks the statement of the last day, which must have the payments that were just made."""
    now = clock.now()
    try:
        lines = [line async for line in source.fetch_statement(now - timedelta(days=1), now)]
    except CannotFetch as error:
        return ConformanceCheck("it gives its statement", False, str(error))
    return ConformanceCheck("it gives its statement", True, f"{len(lines)} lines")


async def _verify_type(
    connector: Connector, type_: Type, phone: str, amount: int, patience_seconds: float
) -> AsyncIterator[ConformanceCheck]:
    name = type_.lower()
    if connector.can_query(type_):
        stranger = await connector.query(_instruction(type_, phone, amount))
        yield ConformanceCheck(
            f"{name}: of a payment that was never made it says nothing", not _ends(stranger), _in_words(stranger)
        )
    instruction = _instruction(type_, phone, amount)
    answer = await connector.send(instruction)
    is_taken = answer.verdict in (Verdict.WAITING, Verdict.CONFIRMED)
    yield ConformanceCheck(f"{name}: it takes one of TZS {amount:,}", is_taken, _in_words(answer))
    if not is_taken:
        return
    last = answer
    if connector.can_query(type_):
        last = await _until_it_ends(connector, instruction, answer, patience_seconds)
        yield ConformanceCheck(f"{name}: asked, it says what became of it", _ends(last), _in_words(last))
        is_same = not (_ends(answer) and _ends(last)) or answer.verdict is last.verdict
        yield ConformanceCheck(f"{name}: the reply and the answer to the question agree", is_same, _in_words(last))
    if connector.resubmit(type_) is Resubmit.DUPLICATES_REFUSED:
        again = await connector.send(instruction)
        is_refused = again.verdict in (Verdict.UNKNOWN, Verdict.REFUSED) or _is_same(again, last)
        yield ConformanceCheck(
            f"{name}: sent again with the same key, it is not done again", is_refused, _in_words(again)
        )


async def _until_it_ends(
    connector: Connector, instruction: PaymentInstruction, answer: Answer, patience_seconds: float
) -> Answer:
    deadline = clock.loop_time() + patience_seconds
    instruction = replace(instruction, network_id=answer.network_id)
    while True:
        answer = await connector.query(instruction)
        if _ends(answer) or clock.loop_time() > deadline:
            return answer
        await asyncio.sleep(min(_PAUSE_SECONDS, patience_seconds / 10))


def _instruction(type_: Type, phone: str, amount: int) -> PaymentInstruction:
    key = "".join(_KEY_CHARACTERS[randomness.below(len(_KEY_CHARACTERS))] for _ in range(16))
    return PaymentInstruction(
        key=key,
        type=type_,
        phone=phone,
        amount=amount,
        note="malipo verify",
        name="malipo verify",
        channel=channel_of(phone),
    )


def _ends(answer: Answer) -> bool:
    return answer.verdict.is_definite


def _is_same(again: Answer, first: Answer) -> bool:
    return again.verdict is first.verdict and again.provider_reference == first.provider_reference


def _in_words(answer: Answer) -> str:
    return " ".join(filter(None, (answer.verdict, answer.code, answer.detail)))
