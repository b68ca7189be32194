"""Presses on pages of links: each gets a new payment, the payment of an earlier press, or a refusal.

The table in `press_decision.py` decides, with the link's row locked. The attempt and its payment are written in one
commit, so a crash leaves both or neither. The payment is an ordinary collection, created by `payments/initiate.py`.

Only the browser that has begun a payment is led to it. Any other that types its number is a stranger, who must not
learn whether a number is being asked: it gets the refusal that another number would get. Where another number would be
asked, it gets the refusal of numbers that were asked too often. Nobody is asked twice either way.

From what its network key is derived, so that a repeat after a restore is refused as a duplicate: `attempt_key.py`.
"""

import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from malipo import ids, log
from malipo.clock import Clock
from malipo.db import Tx
from malipo.errors import Conflict, Refusal, Unavailable
from malipo.links import refuse_prompts
from malipo.links.attempt_key import SCOPE, key_of, network_key_of
from malipo.links.link import Link, NoSuchLink
from malipo.links.press_decision import Others, PressDecision, decide
from malipo.links.press_request import Press
from malipo.links.refuse_prompts import NewPrompt
from malipo.links.store import attempts, links, lost_attempts
from malipo.links.store.attempts import NewAttempt, NumbersAttempts, OpenAttempt
from malipo.links.store.links import Key
from malipo.money import MIN_PAYMENT
from malipo.payments import idempotency
from malipo.payments.idempotency import NotTheAdoptedPayment
from malipo.payments.initiate import Initiate, InitiatedPayment, PaymentRequest
from malipo.payments.payment_request import PaymentTerms
from malipo.payments.store import adopted_payments, transactions
from malipo.payments.transaction import Status, Transaction, Type
from malipo.restore.store import installation
from malipo.validation.fields import Fields


class LinkClosed(Conflict):
    """It takes no payment now: `link_cancelled`, `link_expired`, `link_paid`, `link_full`, `merchant_inactive`."""

    def __init__(self, *, code: str) -> None:
        super().__init__(code=code)


class LinkBusy(Conflict):
    """A number is being asked to pay this link, and this browser has not begun that."""

    code = PressDecision.BUSY.value

    def __init__(self, seconds: int | None) -> None:
        super().__init__(seconds=seconds)


class SecondNumberDoubt(Conflict):
    """A number was asked, and may still turn out to have paid."""

    code = PressDecision.DOUBT.value


class PressResult(msgspec.Struct, frozen=True):
    link: Link
    transaction: Transaction
    is_new: bool  # False: it was there before this press


class PressAttempt(msgspec.Struct, frozen=True):
    """A press, with the id and the reference for a new payment. They are generated before the first try, so that a
    second try finds the payment that the first one wrote."""

    press: Press
    transaction_id: str
    suffix: str
    has_collided: bool = False  # an earlier try failed: another payment has its network key or its reference

    @classmethod
    def of(cls, press: Press, now: datetime) -> "PressAttempt":
        return cls(press, ids.mint("txn_", now), ids.suffix(now))

    def collided(self) -> "PressAttempt":
        return replace(self, has_collided=True)


PressAnswer = PressResult | Refusal | Unavailable


_WaitingPress = tuple[int, PressAttempt, Key]  # a press without an answer: its place among the presses of the commit


class _NewPayment(NamedTuple):
    """A press that makes a payment."""

    place: int  # among the presses of the commit
    link: Link
    press_attempt: PressAttempt
    ordinal: int
    request: PaymentRequest

    @property
    def draft(self) -> Transaction:
        assert self.request.draft is not None
        return self.request.draft

    @property
    def key(self) -> Key:
        return self.link.merchant_id, self.link.id

    def new_attempt(self, transaction_id: str) -> NewAttempt:
        press = self.press_attempt.press
        return NewAttempt(self.key, press.phone, self.ordinal, transaction_id, press.press_id, press.address)


class _Grants:
    """Which new attempts one turn may make: one for each number at a link, and no more at a link than it has room for.
    The others wait for the next turn and are not refused, because an attempt of this turn may still be refused."""

    def __init__(self) -> None:
        self._numbers: set[tuple[str, str]] = set()
        self._granted: Counter[str] = Counter()

    def take(self, link: Link, phone: str, open_count: int) -> bool:
        if (link.id, phone) in self._numbers:
            return False
        if link.places is not None:
            # At a link that is paid once the table has allowed this attempt, perhaps beside doubtful open ones.
            room = link.places - link.paid_count - open_count if link.is_reusable else 1
            if self._granted[link.id] >= room:
                return False
        self._numbers.add((link.id, phone))
        self._granted[link.id] += 1
        return True


class PressLinks:
    def __init__(self, initiate: Initiate, terms: PaymentTerms, *, prompt_seconds: int, clock: Clock) -> None:
        self._initiate = initiate
        self._terms = terms
        self._prompt_seconds = prompt_seconds
        self._clock = clock

    async def __call__(self, tx: Tx, presses: Sequence[PressAttempt], /, *, again: bool) -> list[PressAnswer]:
        keys = await links.lock_by_codes(tx, {each.press.code.lower() for each in presses})
        secret = (await installation.get(tx)).key_secret
        answers: dict[int, PressAnswer] = {}
        waiting: list[_WaitingPress] = []
        for place, each in enumerate(presses):
            if (key := keys.get(each.press.code.lower())) is None:
                answers[place] = NoSuchLink()
            else:
                waiting.append((place, each, key))
        # All numbers at once, because two commits that locked them turn by turn could deadlock.
        await refuse_prompts.lock(tx, {each.press.phone for _, each, _ in waiting})
        # A press that depends on the result of another press waits for the next turn, which reads that result.
        while waiting:
            answers |= await self._take_turn(tx, waiting, secret, again=again)
            waiting = [each for each in waiting if each[0] not in answers]
        return [answers[place] for place in range(len(presses))]

    async def _take_turn(
        self, tx: Tx, turn: Sequence[_WaitingPress], secret: bytes, *, again: bool
    ) -> dict[int, PressAnswer]:
        """The answers of presses that do not depend on each other. The others wait for the next turn."""
        # Read after the lock: an earlier try, or another browser's press, has committed or rolled back by now.
        keys = list({key for _, _, key in turn})
        phones = [each.press.phone for _, each, _ in turn]
        # A payment can end between these two statements. In this order it is read as open, or as open and paid. In the
        # other order it could be read as neither, and the link would be paid twice.
        opened = await attempts.find_open(tx, keys, phones, prompt_seconds=self._prompt_seconds)
        found = await links.find(tx, keys)
        numbers = await attempts.find_of_numbers(
            tx, [(key, each.press.phone, each.press.press_id, each.transaction_id) for _, each, key in turn]
        )
        inactive = await links.find_inactive_merchants(tx, [merchant_id for merchant_id, _ in keys])
        answers: dict[int, PressAnswer] = {}
        new: list[_NewPayment] = []
        grants = _Grants()
        for (place, each, key), number in zip(turn, numbers, strict=True):
            link, own = found[key], _own_open(each, number, opened.get(key, ()))
            is_theirs = own is not None and own in (number.of_press, each.press.begun)
            decision = decision_on(
                link,
                each.press,
                opened.get(key, ()),
                is_own_open=is_theirs,
                is_stranger=own is not None and not is_theirs,
            )
            if own is None and (own := _adopted_one(link, each.press, number)) is not None:
                # A restore has lost this number's payment, and its page does not know of it.
                is_theirs = await _has_lost(tx, key, each.press)
                await lost_attempts.note_press(tx, key, own, each.press.press_id if is_theirs else None)
            if own is not None and is_theirs:
                payment = await attempts.find(tx, key, own)
                assert payment is not None, "an attempt has its payment"
                answers[place] = PressResult(link, payment, is_new=payment.id == each.transaction_id)
            elif number.has_undone:
                answers[place] = NotTheAdoptedPayment()
            elif link.merchant_id in inactive:
                answers[place] = LinkClosed(code="merchant_inactive")
            elif decision is not PressDecision.NEW:
                answers[place] = _refusal(decision, opened.get(key, ()))
            else:
                request = payment_request_of(
                    link, each, number.last_ordinal + 1, self._terms, secret, now=self._clock()
                )
                if request.problem is not None:
                    answers[place] = request.problem
                elif own is not None:
                    answers[place] = refuse_prompts.refuse_asked(link.id, each.press.phone)
                elif grants.take(link, each.press.phone, len(opened.get(key, ()))):
                    new.append(_NewPayment(place, link, each, number.last_ordinal + 1, request))
        return answers | await self._make(tx, new, again=again)

    async def _make(self, tx: Tx, new: Sequence[_NewPayment], *, again: bool) -> dict[int, PressAnswer]:
        """Write the payments with their attempts."""
        answers: dict[int, PressAnswer] = {}
        prompts = [
            NewPrompt(*each.key, each.press_attempt.press.phone, each.press_attempt.press.address) for each in new
        ]
        refusals = await refuse_prompts.refusals(tx, prompts, now=self._clock()) if new else []
        allowed = []
        for each, refusal in zip(new, refusals, strict=True):
            if refusal is not None:
                answers[each.place] = refusal
            elif not each.press_attempt.has_collided:
                allowed.append(each)
            elif (found := await transactions.find_by_network_key(tx, each.draft.network_key)) is None:
                # The reference that follows the key is another payment's.
                reference = self._terms.reference_of(each.press_attempt.suffix)
                request = replace(each.request, draft=replace(each.draft, reference=reference))
                allowed.append(each._replace(request=request))
            elif (answer := await self._adopted(tx, each, found)) is not None:
                answers[each.place] = answer
        if not allowed:
            return answers
        initiated = await self._initiate(tx, [each.request for each in allowed], again=again)
        made: list[NewAttempt] = []
        for each, result in zip(allowed, initiated, strict=True):
            if isinstance(result, InitiatedPayment):
                made.append(each.new_attempt(result.transaction.id))
                answers[each.place] = PressResult(each.link, result.transaction, is_new=not result.is_replay)
            else:
                answers[each.place] = result
        await attempts.insert(tx, made)
        return answers

    async def _adopted(self, tx: Tx, new: _NewPayment, found: Transaction) -> PressAnswer | None:
        """The database was restored, and operators have adopted the payment of this attempt: write the attempt for it.
        None if the customer now typed another amount: then the press is decided again in the next turn."""
        adopted = await adopted_payments.find(tx, found.merchant_id, found.id)
        is_theirs = (found.merchant_id, found.phone, found.type) == (
            new.link.merchant_id,
            new.draft.phone,
            Type.COLLECTION,
        )
        if not is_theirs or adopted is None or adopted.is_undone or found.link_id is not None:
            log.error("payment.adopted_wrongly", transaction=found.id, wanted_by=new.link.merchant_id, link=new.link.id)
            return NotTheAdoptedPayment()
        is_theirs = await _has_lost(tx, new.key, new.press_attempt.press)
        attempt = new.new_attempt(found.id)
        await attempts.insert(tx, [attempt if is_theirs else attempt._replace(press_id=None)])
        await attempts.name_link(tx, new.key, found.id)
        if found.amount != new.draft.amount:
            return None
        if not is_theirs:
            return refuse_prompts.refuse_asked(new.link.id, new.draft.phone)
        return PressResult(new.link, replace(found, link_id=new.link.id), is_new=False)


def decision_on(
    link: Link, press: Press, opened: Sequence[OpenAttempt], *, is_own_open: bool, is_stranger: bool = False
) -> PressDecision:
    """`is_stranger`: another browser has begun the payment of this number, which counts like that of another number."""
    others = [each for each in opened if is_stranger or each.phone != press.phone]
    if not others:
        others_state = Others.NONE
    else:
        others_state = Others.DOUBTFUL if all(each.is_doubtful for each in others) else Others.ASKED
    return decide(
        link.status,
        is_reusable=link.is_reusable,
        is_own_open=is_own_open,
        others=others_state,
        is_full=link.max_payments is not None and link.paid_count + len(opened) >= link.max_payments,
        may_be_second=press.may_be_second,
    )


def _own_open(attempt: PressAttempt, number: NumbersAttempts, opened: Sequence[OpenAttempt]) -> str | None:
    """The payment that an earlier try of this press has made, or the open payment of this number."""
    if number.of_press is not None:
        return number.of_press
    return next((each.transaction_id for each in opened if each.phone == attempt.press.phone), None)


async def _has_lost(tx: Tx, key: Key, press: Press) -> bool:
    """Whether a restore has lost the payment that this browser has begun at the link."""
    return press.begun is not None and await attempts.find(tx, key, press.begun) is None


def _adopted_one(link: Link, press: Press, number: NumbersAttempts) -> str | None:
    """The payment of this number that operators have adopted after a restore, and that no press has found yet."""
    return next((each.transaction_id for each in number.adopted if each.is_of(link, press.amount)), None)


def _refusal(decision: PressDecision, opened: Sequence[OpenAttempt]) -> Refusal:
    if decision is PressDecision.DOUBT:
        return SecondNumberDoubt()
    if decision is not PressDecision.BUSY:
        return LinkClosed(code=decision.value)
    left = [each.prompt_seconds for each in opened if not each.is_doubtful]
    return LinkBusy(None if None in left else math.ceil(max(each for each in left if each is not None)))


def payment_request_of(
    link: Link, attempt: PressAttempt, ordinal: int, terms: PaymentTerms, secret: bytes, *, now: datetime
) -> PaymentRequest:
    """The payment of an attempt, or what is wrong with its amount."""
    press = attempt.press
    fields = Fields({"amount": press.amount if link.amount is None else link.amount})
    most = terms.max_amount(press.channel)
    amount = fields.amount(
        "amount",
        least=link.min_amount or MIN_PAYMENT,
        most=most if link.max_amount is None else min(most, link.max_amount),
    )
    typed_amount = amount if link.amount is None else None
    network_key = network_key_of(secret, link.merchant_id, link.code, press.phone, ordinal, typed_amount)
    draft = Transaction(
        merchant_id=link.merchant_id,
        id=attempt.transaction_id,
        reference=terms.reference_of(network_key),
        network_key=network_key,
        type=Type.COLLECTION,
        channel=press.channel,
        status=Status.PENDING,
        amount=amount,
        fee=0,
        phone=press.phone,
        name=press.name,
        description=link.description,
        metadata={},
        created_at=now,
        is_key_derived=True,
        order_reference=link.order_reference,
        link_id=link.id,
    )
    return PaymentRequest(
        merchant_id=link.merchant_id,
        type=Type.COLLECTION,
        draft=draft if fields.problem is None else None,
        problem=fields.problem,
        key=key_of(link.code, press.phone, ordinal, typed_amount),
        request_hash=idempotency.request_hash({"link": link.id, "amount": amount, "channel": press.channel}),
        scope=SCOPE,
    )
