"""What a second operator is shown of a proposal at the terminal before they approve it: its terms, what it changes, and
the code of all that. It only reads."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from malipo import clock, money
from malipo.approvals import decide
from malipo.approvals.act_rules import BANK, BOOKINGS, RESOLUTIONS, STATEMENT_UNDOS, Act
from malipo.approvals.booking_approval import proposed_booking
from malipo.approvals.key_approval import find_wallet
from malipo.approvals.role_approval import RoleTerms
from malipo.approvals.store import Proposal
from malipo.bank.approve import find_facts
from malipo.bank.proposals import code_of as bank_code_of
from malipo.cli import cases as case_words
from malipo.cli.approval_code import ShownProposal
from malipo.cli.exceptions import effects, words
from malipo.db import Conn
from malipo.db.database_time import database_now
from malipo.merchants.api_keys import KeyTerms
from malipo.merchants.store import merchants
from malipo.payments.after_restore import release, status
from malipo.payments.after_restore.release import ReleaseTerms
from malipo.payments.cases import resolve
from malipo.payments.store import cases
from malipo.payments.store.cases import proposed_resolution
from malipo.reconciliation.close.store.closes import proposed_close
from malipo.reconciliation.exceptions.resolve_exceptions import ResolveExceptions
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.imports import withdraw_statement
from malipo.reconciliation.imports.find_import_effect import find_import_effect
from malipo.reconciliation.imports.store import withdrawal_proposals as statement_proposals
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.exception import is_exception_id
from malipo.reconciliation.matching.store import exceptions
from malipo.reconciliation.matching.store.summed_lines import ChargeSum
from malipo.reconciliation.matching.store.waiting_lines import WaitingLine
from malipo.reconciliation.statements.store import statements
from malipo.settings import Settings
from malipo.settlement import operator_acts
from malipo.settlement.operator_acts import SettlementActTerms
from malipo.words import effects as effect_words

# The commit compares the hash of the whole close, so what was shown to the proposer is what is approved.
_NO_DIFFERENCES = "An earlier version has proposed it: see what differs at /operator/close/{day}"


async def find_shown(connection: Conn, proposal: Proposal, settings: Settings) -> ShownProposal:
    found = await _find(connection, proposal, settings)
    whole = {"proposed by": proposal.requested_by, "reason": proposal.reason or None, **found.terms}
    return found._replace(terms=whole)


async def _find(connection: Conn, proposal: Proposal, settings: Settings) -> ShownProposal:
    if proposal.action in BOOKINGS:
        return await _booking(connection, proposal)
    if proposal.action in BANK:
        return await _bank(connection, proposal)
    if proposal.action in STATEMENT_UNDOS:
        return await _statement(connection, proposal, settings)
    match proposal.action:
        case Act.IMPORT:
            return await _import(connection, proposal)
        case Act.CLOSE_WITH_DIFFERENCE:
            return _close(proposal)
        case Act.MAKE_PAYING_KEY:
            return await _key(connection, proposal)
        case Act.GIVE_ROLE:
            return _role(proposal)
        case Act.RELEASE:
            return await _release(connection, proposal)
        case Act.VERIFY_BANK_ACCOUNT | Act.COLLECT_SETTLEMENT | Act.RELEASE_SETTLEMENTS:
            return await _settlement(connection, proposal)
    if proposal.action in resolutions.ACTS and is_exception_id(proposal.subject):
        return await _exception(connection, proposal, settings)
    if proposal.action in RESOLUTIONS:
        return await _payment(connection, proposal)
    raise LookupError(f"nothing says what to show of the act {proposal.action}")


async def _booking(connection: Conn, proposal: Proposal) -> ShownProposal:
    booking = proposed_booking(proposal)
    id_ = booking.merchant_id
    whose = None if id_ is None else f"{await merchants.name_of(connection, id_)} ({id_})"
    terms = {
        "booking": booking.kind.replace("_", " "),
        "amount": money.display(booking.amount),
        "bank reference": booking.bank_reference,
        "merchant": whose,
        "out of suspense, of": booking.releases,
        "channel": booking.channel or None,
        "account": booking.account or None,
        "the other way than usual": "yes" if booking.is_back else None,
        "day": None if booking.day is None else str(booking.day),
    }
    return ShownProposal(decide.code_of(proposal), terms)


async def _bank(connection: Conn, proposal: Proposal) -> ShownProposal:
    facts = await find_facts(connection, proposal, now=await database_now(connection))
    terms = {name.replace("_", " "): _shown_cents(name, value) for name, value in facts.terms.items()}
    return ShownProposal(bank_code_of(proposal, facts), terms, [f"  {_on_one_line(each)}" for each in facts.rows])


def _on_one_line(row: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in row.items() if value not in (None, ""))


def _shown_cents(name: str, value: object) -> object:
    match name, value:
        case "cents", int(cents):
            return money.exact(0, cents)
        case "amount" | "urgent_above", int(amount):
            return money.display(amount)
    return value


async def _key(connection: Conn, proposal: Proposal) -> ShownProposal:
    key = proposal.terms_as(KeyTerms)
    name = await merchants.name_of(connection, proposal.subject)
    wallet = await find_wallet(connection, proposal.subject)
    terms = {
        "API key": key.name,
        "merchant": f"{name} ({proposal.subject})",
        "permissions": ", ".join(key.permissions),
        "addresses": ", ".join(key.ip_allowlist) or "any",
        "works until": None if key.expires_at is None else clock.iso(key.expires_at),
        "payout limit": "none" if key.payout_limit is None else money.display(key.payout_limit),
        "daily payout limit": "none" if key.daily_payout_limit is None else money.display(key.daily_payout_limit),
        "the wallet holds": money.display(wallet.available),
        "in flight": money.display(wallet.in_flight),
    }
    return ShownProposal(decide.code_of(proposal), terms)


async def _settlement(connection: Conn, proposal: Proposal) -> ShownProposal:
    """A bank account, what is owed of an adopted settlement, or the release after a restore."""
    named = proposal.terms_as(SettlementActTerms)
    terms: dict[str, Any] = {
        "act": proposal.action.replace("_", " "),
        "subject": proposal.subject,
        "merchant": named.merchant_id,
        "written off": named.is_waived,
        **await operator_acts.find_shown(connection, proposal),
    }
    return ShownProposal(await operator_acts.find_code(connection, proposal), terms)


async def _payment(connection: Conn, proposal: Proposal) -> ShownProposal:
    resolution = proposed_resolution(proposal)
    case = await cases.get(connection, resolution.merchant_id, proposal.subject)
    transaction = case.transaction
    terms = {
        "payment": transaction.reference,
        "type": transaction.type,
        "channel": transaction.channel,
        "merchant": transaction.merchant_id,
        "amount": money.display(transaction.amount),
        "status": transaction.status,
        "outcome": resolution.outcome,
        "receipt": resolution.provider_reference,
        "despite waiting": "yes" if resolution.is_despite_waiting else None,
        "waived": "yes" if resolution.is_waived else None,
    }
    corrected = case_words.correction_lines(case) if case.correction is not None else []
    return ShownProposal(
        await resolve.find_code(connection, proposal), terms, [f"{name + ':':<20} {value}" for name, value in corrected]
    )


async def _exception(connection: Conn, proposal: Proposal, settings: Settings) -> ShownProposal:
    exception, resolution = (
        await exceptions.get(connection, proposal.subject),
        resolutions.proposed_resolution(proposal),
    )
    assert exception is not None
    changes = await effects.find(connection, exception, resolution.action, resolution.terms, settings)
    code = await ResolveExceptions.of(settings, clock.now).find_code(connection, proposal)
    terms = {name: value for name, value in words.lines_of(exception) if name != "state"}
    # The proposer's terms stand beside those of the line, never in their place.
    proposed_terms = {f"proposed {name}" if name in terms else name: value for name, value in resolution.terms.items()}
    terms |= {"action": resolution.action, **proposed_terms}
    return ShownProposal(code, terms, [] if changes is None else effects.in_words(changes).splitlines())


async def _statement(connection: Conn, proposal: Proposal, settings: Settings) -> ShownProposal:
    proposed = statement_proposals.of(proposal)
    file = await statements.get(connection, proposed.file_id)
    assert file is not None
    amount = settings.booking_approval_amount
    now = await database_now(connection)
    effect = await find_import_effect(connection, file, approval_amount=amount, now=now)
    terms = {
        "action": proposed.action,
        "import": file.id,
        "file": file.name,
        "channel": file.channel,
        "account": file.account,
        "booking": proposed.booking_id,
        "amount": money.display(proposal.amount),
    }
    changes: list[str] = []
    if effect is not None:
        undone = effect.withdrawal if proposed.booking_id is None else effect.undos.get(proposed.booking_id, [])
        changes = effects.in_words(effects.rows_of(undone, {})).splitlines()
        if proposed.booking_id is None:
            changes += [effect_words.IMPORT_NOTES[note].format(count=f"{count:,}") for note, count in effect.notes]
    return ShownProposal(withdraw_statement.code_of(proposal, effect), terms, changes)


async def _import(connection: Conn, proposal: Proposal) -> ShownProposal:
    waiting = await import_approval.find_waiting_list(connection, proposal)
    file = await statements.get(connection, proposal.subject)
    layout = "" if file is None else file.profile
    terms = {
        "import": proposal.subject,
        "read as": layout,
        "payments": len(waiting.lines),
        "amount": money.display(waiting.amount),
    }
    changes = []
    for author in waiting.authors:
        sentence, values = effect_words.author_of(author, layout)
        changes.append(f"  {sentence.format(**values)}")
    changes += [
        f"  {each.reference}, {each.type} {each.status}: {_way(each)} by {each.receipt}, a {each.role}"
        f"{_by_word(each)}{_by_name(each)}"
        for each in waiting.lines
    ]
    changes += [f"  {each.kind} of {each.day}: {_ways(each)}" for each in waiting.sums]
    return ShownProposal(import_approval.code_of(waiting), terms, changes)


def _by_word(line: WaitingLine) -> str:
    return f", which counts because of its status “{line.word}”" if line.word else ""


def _by_name(line: WaitingLine) -> str:
    return f", of a line that {', '.join(line.named_by)} called the payment's" if line.named_by else ""


def _way(line: WaitingLine) -> str:
    return f"{money.display(line.payment_amount)} {'came in' if line.amount > 0 else 'went out'}"


def _ways(lines: ChargeSum) -> str:
    """Which way it went: a sweep of the same amount may be either."""
    ways = [(lines.money_in, "came in"), (lines.money_out, "went out")]
    return ", ".join(f"{money.display(amount)} {way}" for amount, way in ways if amount)


def _close(proposal: Proposal) -> ShownProposal:
    proposed = proposed_close(proposal)
    day: date = proposed.day
    terms = {"day": str(day), "without": ", ".join(proposed.without), "hash": proposed.hash}
    return ShownProposal(decide.code_of(proposal), terms, proposed.differences or [_NO_DIFFERENCES.format(day=day)])


def _role(proposal: Proposal) -> ShownProposal:
    terms = proposal.terms_as(RoleTerms)
    shown = {"operator": proposal.subject, "role now": terms.before, "role": terms.role}
    return ShownProposal(decide.code_of(proposal), shown)


async def _release(connection: Conn, proposal: Proposal) -> ShownProposal:
    found, of = await status.find(connection), proposal.terms_as(ReleaseTerms)
    terms: dict[str, Any] = {"release": "the installation", "fenced because": found.installation.fence_reason}
    rows = [each for each in found.open if each.review_reason]
    if of.channel is not None and of.type is not None:
        payments, amount = release.sums_of(found, (of.channel, of.type))
        terms = {"release": f"{of.channel} {of.type}", "payments": payments, "amount": money.display(amount)}
        rows = []
    changes = [f"  {each.channel} {each.type}: {each.payments:,} {each.review_reason}" for each in rows]
    return ShownProposal(release.code_of(proposal, found), terms, changes)
