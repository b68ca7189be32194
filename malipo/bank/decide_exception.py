"""What operators decide about a line of the bank that nothing of ours fits. Nothing is resolved by time.

`book`     it is money of the house: a charge, or money whose owner is not known yet
`match`    it is this settlement, or this booking, although the bank names none or another reference
`adopt`    a restored database does not know that it sent it, or it was cancelled or had come back: the bank has paid it
           all the same, out of the wallet or as a debt

All need the exact amount. Settlements are matched and adopted by two operators; a booking takes two above an amount.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from malipo import ids
from malipo.approvals import decide, moved_alone
from malipo.approvals.act_rules import BANK_LINES, Act
from malipo.approvals.moved_alone import Deciders, require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.bank import proposals
from malipo.bank.line_decision import BankExceptionKind, BankLine
from malipo.bank.match_bank_lines import match_bank_lines, return_of
from malipo.bank.proposals import ShownTerms
from malipo.bank.store import lines as store
from malipo.bank.store import payer_accounts, payout_files
from malipo.bank.store.lines import BankException, Match
from malipo.bank_formats.bank_entry import cents_words
from malipo.db import Conn, Tx
from malipo.errors import Code, Conflict, Invalid, Missing
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.house_bookings import HouseBooking, HouseBookingKind
from malipo.ledger.store import closed_days
from malipo.settlement import adopt, bank_outcomes
from malipo.settlement.bank_outcomes import Debit
from malipo.settlement.settlement import ENDED_IN_WALLET, Settlement, SettlementStatus
from malipo.settlement.store import settlements

BOOKED_TO = (
    *(Account.BANK_CHARGES, Account.INTEREST, Account.OTHER_INCOME, Account.TAXES, Account.VAT),
    *(Account.NETWORK_FEES, Account.SUSPENSE, Account.LOSSES),
)


class BankAction(StrEnum):
    BOOK = "book"
    MATCH = "match"
    ADOPT = "adopt"


ACT_OF = {
    BankAction.BOOK: Act.BOOK_BANK_LINE,
    BankAction.MATCH: Act.MATCH_BANK_LINE,
    BankAction.ADOPT: Act.ADOPT_SETTLEMENT,
}


class BankDecisionRefusal(Code):
    NO_SUCH = "bank_exception_unknown"
    RESOLVED = "bank_exception_resolved"
    TERMS = "bank_decision_terms"
    ACCOUNT = "bank_decision_account"
    NO_SETTLEMENT = "bank_decision_no_settlement"
    NO_BOOKING = "bank_decision_no_booking"
    AMOUNT = "bank_decision_amount"
    NOT_OPEN = "bank_decision_not_open"
    NOT_A_DEBIT = "bank_decision_not_a_debit"
    CENTS = "bank_decision_cents"
    OPEN = "bank_decision_open"


class LineTerms(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    action: BankAction
    account: str = ""  # book: an account of the house
    settlement_ids: tuple[str, ...] = ()  # match: one. Adopt: those that the line has paid, if they are here
    booking_id: str = ""  # match, instead of a settlement
    merchant_id: str = ""  # adopt: whose it is, if no settlement has its key
    key: str = ""  # adopt: the EndToEndId, if the line does not say it


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    proposal: Proposal
    is_done: bool  # else it waits for another operator


async def begin(
    tx: Tx,
    exception_id: str,
    terms: LineTerms,
    *,
    reason: str,
    approval_amount: int,
    reference_prefix: str,
    actor: Actor,
    now: datetime,
    is_single_operator: bool = False,
) -> Decided:
    """Propose a decision, or do it at once if one operator may."""
    require_operator(actor)
    await payer_accounts.lock(tx)
    await moved_alone.lock(tx, actor.name)
    exception, reason = await _get_open(tx, exception_id), proposals.require_reason(reason)
    act, amount = ACT_OF[terms.action], abs(exception.line.cents) // 100
    await decide.require_none_open(tx, BANK_LINES, exception.id)
    await _require_possible(tx, exception, terms)
    deciders = await moved_alone.count_unless_two(
        tx,
        act,
        amount,
        operator=actor.name,
        subject=exception.id,
        approval_amount=approval_amount,
        now=now,
        is_single_operator=is_single_operator,
    )
    if deciders is Deciders.TWO:
        proposal = await proposals.propose(
            tx, act, exception.id, terms, amount=amount, reason=reason, actor=actor, now=now, family=BANK_LINES
        )
        return Decided(proposal=proposal, is_done=False)
    proposal = Proposal(
        id=exception.id,
        action=act,
        subject=exception.id,
        amount=amount,
        terms=decide.encode(terms),
        reason=reason,
        requested_by=actor.name,
        requested_at=now,
        is_single_operator=deciders is Deciders.SINGLE_OPERATOR,
    )
    await apply(tx, proposal, reference_prefix=reference_prefix, actor=actor, now=now)
    return Decided(proposal=proposal, is_done=True)


async def facts(connection: Conn, proposal: Proposal) -> ShownTerms:
    exception = await _get(connection, proposal.subject)
    terms, line = proposal.terms_as(LineTerms), exception.line
    named = await settlements.find(connection, terms.settlement_ids)
    rows = [
        {
            "settlement": each.reference,
            "merchant": each.merchant_id,
            "amount": each.net_amount,
            "status": each.status,
        }
        for each in named
    ]
    shown = {
        "exception": exception.id,
        "kind": exception.kind,
        "booked_on": line.booked_on.isoformat(),
        "cents": line.cents,
        "reference": line.reference,
        "key": line.key,
        "details": line.details,
        "action": terms.action,
        "to_account": terms.account,
        "booking": terms.booking_id,
        "merchant": terms.merchant_id,
        "with_key": terms.key,
    }
    return ShownTerms(shown, rows)


async def apply(tx: Tx, proposal: Proposal, *, reference_prefix: str, actor: Actor, now: datetime) -> None:
    exception, terms = await _get_open(tx, proposal.subject), proposal.terms_as(LineTerms)
    await _require_possible(tx, exception, terms)
    match terms.action:
        case BankAction.BOOK:
            matches = [await _book(tx, exception.line, terms, proposal, actor=actor, now=now)]
        case BankAction.MATCH if terms.booking_id:
            matches = [_booking_match(exception.line, terms.booking_id)]
        case BankAction.MATCH:
            matches = [await _match(tx, exception.line, terms, now=now)]
        case BankAction.ADOPT:
            matches = await _adopt(
                tx, exception.line, terms, by=proposal.requested_by, reference_prefix=reference_prefix, now=now
            )
    await store.insert_matches(tx, matches, by=actor.name, now=now)
    await store.resolve(tx, [exception.line.id], terms.action, by=actor.name, now=now)
    await match_bank_lines(tx, by=actor.name, now=now)
    await audit_log.append(
        tx,
        actor,
        f"bank.line_{terms.action}",
        now=now,
        exception=exception.id,
        amount=proposal.amount,
        subjects=[each.subject_id for each in matches],
        reason=proposal.reason,
        proposed_by=proposal.requested_by,
        **audit_log.alone(proposal.is_single_operator),
    )


async def _book(tx: Tx, line: BankLine, terms: LineTerms, proposal: Proposal, *, actor: Actor, now: datetime) -> Match:
    move, cents = house_bookings.move_of(line.cents, Account(terms.account), house_bookings.OF_BANK)
    is_second = actor.name != proposal.requested_by
    booking = HouseBooking(
        id=ids.mint(house_bookings.ID_PREFIX, now),
        kind=HouseBookingKind.BANK_LINE,
        channel=house_bookings.OF_BANK,
        account=line.payer_account_id,
        source=move.source,
        target=move.target,
        amount=move.amount,
        cents=cents,
        reference=str(line.id),
        value_date=house_bookings.value_date_of(line.booked_on, first_open_day=await closed_days.first_open_day(tx)),
        evidence=proposal.reason,
        booked_by=proposal.requested_by,
        approved_by=actor.name if is_second else None,
    )
    if not await house_bookings.book(tx, [booking], now=now):
        raise Conflict(code=BankDecisionRefusal.RESOLVED, name=proposal.subject)
    return Match(line_id=line.id, meaning="house", subject_id=booking.id, merchant_id=None, amount=line.cents)


def _booking_match(line: BankLine, booking_id: str) -> Match:
    return Match(line_id=line.id, meaning="booking", subject_id=booking_id, merchant_id=None, amount=line.cents)


async def _match(tx: Tx, line: BankLine, terms: LineTerms, *, now: datetime) -> Match:
    [settlement] = await _get_settlements(tx, terms)
    if line.cents < 0:
        await bank_outcomes.complete(tx, [Debit(settlement.id, line.reference, line.booked_on)], now=now)
    else:
        await bank_outcomes.give_back(tx, [return_of(settlement.id, line)], now=now)
    return _match_of(line, settlement)


def _match_of(line: BankLine, settlement: Settlement, *, is_part: bool = False) -> Match:
    sign = 1 if line.cents > 0 else -1
    return Match(
        line_id=line.id,
        meaning="sum" if is_part else "debit" if sign < 0 else "return",
        subject_id=settlement.id,
        merchant_id=settlement.merchant_id,
        amount=sign * 100 * settlement.net_amount,
    )


async def _adopt(
    tx: Tx, line: BankLine, terms: LineTerms, *, by: str, reference_prefix: str, now: datetime
) -> list[Match]:
    """The settlements of a line that the bank has paid, and that a restored database did not send."""

    async def paid(merchant_id: str, key: str, amount: int) -> Settlement:
        return await adopt.adopt(
            tx,
            merchant_id,
            key,
            amount,
            bank_reference=line.reference,
            booked_on=line.booked_on,
            by=by,
            reference_prefix=reference_prefix,
            now=now,
        )

    if not terms.settlement_ids:
        key = terms.key or line.key
        await _take_out_of_files(tx, (await settlements.find_by_keys(tx, [key])).values(), now=now)
        return [_match_of(line, await paid(terms.merchant_id, key, -line.cents // 100))]
    await _take_out_of_files(tx, found := await _get_settlements(tx, terms), now=now)
    adopted = [await paid(each.merchant_id, each.key, each.net_amount) for each in found]
    return [_match_of(line, each, is_part=len(adopted) > 1) for each in adopted]


async def _take_out_of_files(tx: Tx, paid: Iterable[Settlement], *, now: datetime) -> None:
    """A file that was gathered and is not approved must not pay them again."""
    for each in paid:
        if each.status is SettlementStatus.REQUESTED and each.payout_file_id is not None:
            await payout_files.drop_lines(tx, each.payout_file_id, [each.id], why="adopted", now=now)


async def _require_possible(tx: Tx, exception: BankException, terms: LineTerms) -> None:
    """Refuse what the line or its settlements do not allow now."""
    line = exception.line
    match terms.action:
        case BankAction.BOOK:
            if terms.account not in BOOKED_TO:
                raise Invalid(code=BankDecisionRefusal.ACCOUNT, known=list(BOOKED_TO))
            await _refuse_to_book_what_is_open(tx, line)
        case BankAction.MATCH if terms.booking_id and not terms.settlement_ids:
            await _require_booking(tx, line, terms.booking_id)
        case BankAction.MATCH if len(terms.settlement_ids) == 1 and not terms.booking_id:
            [settlement] = await _get_settlements(tx, terms)
            _require_open(line, settlement)
            _require_amount(line, settlement.net_amount)
        case BankAction.ADOPT if terms.settlement_ids or terms.merchant_id:
            await _require_adoptable(tx, exception, terms)
        case _:
            raise Invalid(code=BankDecisionRefusal.TERMS, action=terms.action)


async def _refuse_to_book_what_is_open(tx: Tx, line: BankLine) -> None:
    """A debit that is exactly the settlements which it names, and that are open, has paid them. If it were booked as
    money of the house, they would wait for ever."""
    named = list((await settlements.find_by_keys(tx, [line.key])).values())
    if not named:
        files = await payout_files.find_by_message(tx, {line.message_id, line.key})
        named = await settlements.find(tx, {id_ for _, ids_ in files for id_ in ids_})
    is_open = all(each.status in (SettlementStatus.REQUESTED, SettlementStatus.SENT) for each in named)
    if named and is_open and -line.cents == 100 * sum(each.net_amount for each in named):
        raise Conflict(code=BankDecisionRefusal.OPEN, name=", ".join(each.reference for each in named))


async def _require_booking(tx: Tx, line: BankLine, booking_id: str) -> None:
    found = {each.id: each for each in await store.find_bookings(tx)}
    if booking_id not in found:
        raise Missing(code=BankDecisionRefusal.NO_BOOKING, name=booking_id)
    if found[booking_id].cents != line.cents:
        raise Conflict(
            code=BankDecisionRefusal.AMOUNT, line=cents_words(line.cents), other=cents_words(found[booking_id].cents)
        )


async def _require_adoptable(tx: Tx, exception: BankException, terms: LineTerms) -> None:
    line = exception.line
    if line.cents >= 0:
        raise Conflict(code=BankDecisionRefusal.NOT_A_DEBIT, name=exception.id)
    if line.cents % 100:
        raise Conflict(code=BankDecisionRefusal.CENTS, name=exception.id)
    if terms.settlement_ids:
        found = await _get_settlements(tx, terms)
    elif key := terms.key or line.key:
        found = [*(await settlements.find_by_keys(tx, [key])).values()]
    else:
        raise Invalid(code=BankDecisionRefusal.TERMS, action=terms.action)
    is_twice = exception.kind is BankExceptionKind.TWICE
    if is_twice and not (found and all(each.status in ENDED_IN_WALLET for each in found)):
        # The merchant has it twice at its bank, which is asked to send one of them back.
        raise Conflict(code=BankDecisionRefusal.NOT_A_DEBIT, name=exception.id)
    if not terms.settlement_ids:
        return
    for each in found:
        if each.status is SettlementStatus.COMPLETED:
            raise Conflict(code=BankDecisionRefusal.NOT_OPEN, name=each.reference, status=each.status)
    _require_amount(line, sum(each.net_amount for each in found))


def _require_open(line: BankLine, settlement: Settlement) -> None:
    """A debit is of one that was sent, and a return of one that was paid."""
    wanted = SettlementStatus.SENT if line.cents < 0 else SettlementStatus.COMPLETED
    if settlement.status is not wanted:
        raise Conflict(code=BankDecisionRefusal.NOT_OPEN, name=settlement.reference, status=settlement.status)


def _require_amount(line: BankLine, amount: int) -> None:
    if abs(line.cents) != amount * 100:
        raise Conflict(
            code=BankDecisionRefusal.AMOUNT, line=cents_words(abs(line.cents)), other=cents_words(amount * 100)
        )


async def _get_settlements(tx: Tx, terms: LineTerms) -> list[Settlement]:
    found = {each.id: each for each in await settlements.find(tx, terms.settlement_ids)}
    for each in terms.settlement_ids:
        if each not in found:
            raise Missing(code=BankDecisionRefusal.NO_SETTLEMENT, name=each)
    return list(found.values())


async def _get(connection: Conn, exception_id: str) -> BankException:
    exception = await store.get_exception(connection, exception_id)
    if exception is None:
        raise Missing(code=BankDecisionRefusal.NO_SUCH, name=exception_id)
    return exception


async def _get_open(connection: Conn, exception_id: str) -> BankException:
    exception = await _get(connection, exception_id)
    if exception.resolved_at is not None:
        raise Conflict(code=BankDecisionRefusal.RESOLVED, name=exception_id)
    return exception
