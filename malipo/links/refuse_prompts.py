"""Refuses prompts to numbers that operators have blocked, and prompts beyond the limits of `prompt_limits.py`.

This is decided in the commit of the press, under a lock for each number, so that presses at several links are counted
one after the other. All refusals are equal: they do not reveal whether a number is blocked, known, or often asked.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from malipo import log
from malipo import phone as phones
from malipo.db import Tx
from malipo.errors import Code, Refusal, TooMany
from malipo.links.prompt_limits import HOUR, Counted, LimitedSubject, counts_as, limit_met
from malipo.links.store import blocked_numbers, prompts
from malipo.payments.transaction import Status

Tally = Counter[tuple[str, LimitedSubject, Counted]]


class NewPrompt(NamedTuple):
    """A prompt that a press would send."""

    merchant_id: str
    link_id: str
    phone: str
    address: str | None  # of the client


class PromptRefusal(Code):
    TOO_MANY = "too_many_prompts"


class TooManyPrompts(TooMany):
    code = PromptRefusal.TOO_MANY

    def __init__(self) -> None:
        super().__init__(message="", retry_after_seconds=round(HOUR.total_seconds()))


async def lock(tx: Tx, numbers: Collection[str]) -> None:
    """Lock these numbers. The caller has locked the rows of their links, and has decided nothing yet."""
    await prompts.lock_numbers(tx, numbers)


async def refusals(tx: Tx, new_prompts: Sequence[NewPrompt], *, now: datetime) -> list[Refusal | None]:
    """Why each prompt is refused; None if it may be sent. The caller has locked the links and the numbers."""
    numbers = sorted({each.phone for each in new_prompts})
    blocked = await blocked_numbers.find(tx, numbers)
    tally: Tally = Counter()
    tally.update(await prompts.count_of_numbers(tx, numbers))
    tally.update(await prompts.count_of_links(tx, {(each.merchant_id, each.link_id) for each in new_prompts}))
    tally.update(
        await prompts.count_of_addresses(tx, {each.address for each in new_prompts if each.address is not None})
    )
    return [_refusal(each, tally, is_blocked=each.phone in blocked) for each in new_prompts]


def refuse_asked(link_id: str, phone: str) -> Refusal:
    """The refusal of a number whose payment another browser has begun here: the same as of all that are not asked."""
    log.info("prompt.refused", phone=phones.mask(phone), link=link_id, why="asked already")
    return TooManyPrompts()


def _refusal(prompt: NewPrompt, tally: Tally, *, is_blocked: bool) -> Refusal | None:
    """A prompt that may be sent counts for the prompts after it."""
    subjects = {
        LimitedSubject.NUMBER: prompt.phone,
        LimitedSubject.LINK: prompt.link_id,
        LimitedSubject.ADDRESS: prompt.address or "",
    }
    counts = {
        (subject, counted): tally[who, subject, counted] for subject, who in subjects.items() for counted in Counted
    }
    met = limit_met(counts)
    if met is not None or is_blocked:
        why = f"{met.subject} {met.counted}" if met is not None else "blocked"
        log.info("prompt.refused", phone=phones.mask(prompt.phone), link=prompt.link_id, why=why)
        return TooManyPrompts()
    for subject, who in subjects.items():
        tally.update({(who, subject, counted): 1 for counted in counts_as(Status.PENDING, None)})
    return None
