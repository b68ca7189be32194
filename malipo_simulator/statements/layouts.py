"""How each network writes its statement, as CSV. Pure.

M-Pesa's is that of its portal for organisations. The others' exports are not public: theirs here are of the kinds that
their customers' statements have, so that a reader meets every way to write a time, an amount and a sign.
"""

import csv
import io
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time, timedelta

from malipo_simulator.statements.account import ZONE, Statement, StatementEntry
from malipo_simulator.transaction import GatewayName

Rows = Iterable[list[object]]


def as_csv(statement: Statement) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(_LAYOUTS[statement.gateway](statement))
    return text.getvalue()


def _mpesa(statement: Statement) -> Rows:
    """With a heading, newest first, the phone masked, what was withdrawn with a minus."""
    begins, ends = _bounds(statement)
    moved = [each.amount * 100 + each.cents for each in statement.entries if not each.is_failed]
    came, went = sum(each for each in moved if each > 0), sum(each for each in moved if each < 0)
    yield ["Account Holder", statement.merchant]
    yield ["Account", "Utility Account"]
    yield ["Time Period From", _day_first(begins), "", "To", _day_first(ends)]
    closing = _grouped(statement.closing, statement.closing_cents)
    yield ["Opening Balance", _grouped(statement.opening), "", "Closing Balance", closing]
    yield ["Total Paid In", _grouped(0, came), "", "Total Withdrawn", _grouped(0, went)]
    yield []
    yield [
        "Receipt No.",
        "Completion Time",
        "Initiation Time",
        "Details",
        "Transaction Status",
        "Paid In",
        "Withdrawn",
        "Balance",
        "Balance Confirmed",
        "Reason Type",
        "Other Party Info",
        "Linked Transaction ID",
        "A/C No.",
    ]
    for entry in reversed(statement.entries):
        at = _local(entry)
        details, reason = _mpesa_words(entry)
        yield [
            entry.receipt,
            _day_first(at),
            _day_first(at),
            details,
            "Failed" if entry.is_failed else "Completed",
            _grouped(entry.amount, entry.cents) if entry.amount > 0 else "",
            _grouped(entry.amount, entry.cents) if entry.amount < 0 else "",
            _grouped(entry.balance, entry.balance_cents),
            "TRUE",
            reason,
            _masked(entry.phone) if entry.phone else "SP",
            entry.linked,
            _merchants_reference(entry),
        ]


def _mpesa_words(entry: StatementEntry) -> tuple[str, str]:
    """A remark stands behind the network's own words."""
    return {
        "collection": (f"Pay Bill from {_masked(entry.phone)} {entry.remark}".strip(), "Pay Utility"),
        "disbursement": (f"Business Payment to {_masked(entry.phone)} {entry.remark}".strip(), "Business Payment"),
        "fee": ("Pay Bill Charge", "Charge"),
        "reversal": (f"Reversal of {entry.linked}", "Transaction Reversal"),
        "sweep": ("Organization Settlement Transfer to Working Account", "Organization Settlement"),
        "bank": (_bank_words(entry, "Withdrawal of funds to Bank", "Deposit of funds from Bank"), "Bank Transfer"),
        "other": ("Trust account profit share", "Profit Share"),
    }[entry.kind]


def _airtel(statement: Statement) -> Rows:
    """Amounts without a sign, a column that says credit or debit, a clock of twelve hours."""
    begins, ends = _bounds(statement)
    yield ["AIRTEL MONEY STATEMENT", statement.merchant]
    yield ["Period", f"{begins:%d-%m-%y %I:%M:%S %p}", "To", f"{ends:%d-%m-%y %I:%M:%S %p}"]
    closing = exact(statement.closing, statement.closing_cents, ",")
    yield ["Opening Balance", f"{statement.opening:,}", "Closing Balance", closing]
    yield [
        "Date",
        "Transaction ID",
        "Description",
        "Status",
        "Transaction Amount",
        "Credit/Debit",
        "Balance",
        "Reference",
    ]
    for entry in statement.entries:
        at = f"{_local(entry):%d-%m-%y %I:%M:%S %p}"
        way = "Credit" if entry.amount > 0 else "Debit"
        words = f"{plain_words(entry)} {entry.phone.lstrip('+')}".strip()
        amount = exact(abs(entry.amount), abs(entry.cents), ",")
        amounts = (amount, way, exact(entry.balance, entry.balance_cents, ","))
        status = "Failed" if entry.is_failed else "Success"
        yield [at, entry.receipt, words, status, *amounts, _merchants_reference(entry)]


def _signed(statement: Statement) -> Rows:
    """One signed amount, labels above the table."""
    begins, ends = _bounds(statement)
    yield ["from", f"{begins:%Y-%m-%d %H:%M:%S}", "to", f"{ends:%Y-%m-%d %H:%M:%S}"]
    yield ["opening balance", statement.opening]
    yield ["closing balance", exact(statement.closing, statement.closing_cents)]
    yield ["receipt", "time", "amount", "balance", "reference", "phone", "details", "linked receipt", "status"]
    for entry in statement.entries:
        at = f"{_local(entry):%Y-%m-%d %H:%M:%S}"
        who = [_merchants_reference(entry), entry.phone]
        status = "Failed" if entry.is_failed else "Completed"
        amounts = (exact(entry.amount, entry.cents), exact(entry.balance, entry.balance_cents))
        yield [entry.receipt, at, *amounts, *who, plain_words(entry), entry.linked, status]


def _clickpesa(statement: Statement) -> Rows:
    """Times in UTC, no balance after each line."""
    begins, ends = _bounds(statement)
    yield ["startDate", begins.isoformat(), "endDate", ends.isoformat()]
    closing = exact(statement.closing, statement.closing_cents)
    yield ["openingBalance", statement.opening, "closingBalance", closing]
    yield ["date", "description", "amount", "entry", "id", "orderReference"]
    for entry in statement.entries:
        if entry.is_failed:
            continue  # It has no column for that.
        at = datetime.fromtimestamp(entry.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        way = "Credit" if entry.amount > 0 else "Debit"
        amount = exact(abs(entry.amount), abs(entry.cents))
        yield [at, plain_words(entry), amount, way, entry.receipt, _merchants_reference(entry)]


def plain_words(entry: StatementEntry) -> str:
    return (
        entry.remark
        or {
            "collection": "Payment from customer",
            "disbursement": "Payout",
            "fee": "Transaction fee",
            "reversal": f"Reversal of {entry.linked}",
            "sweep": "Sweep between accounts",
            "bank": _bank_words(entry, "Transfer to bank", "Transfer from bank"),
            "other": "Trust account profit share",
        }[entry.kind]
    )


def _merchants_reference(entry: StatementEntry) -> str:
    """The bank's stands in the words."""
    return "" if entry.kind == "bank" else entry.reference


def _bank_words(entry: StatementEntry, to_bank: str, from_bank: str) -> str:
    """With the bank's reference."""
    return f"{to_bank if entry.amount < 0 else from_bank} {entry.reference}".strip()


def _bounds(statement: Statement) -> tuple[datetime, datetime]:
    begins = datetime.combine(statement.day, time(), ZONE)
    if statement.until is not None:
        return begins, datetime.fromtimestamp(statement.until, ZONE)
    return begins, begins + timedelta(days=1)


def _local(entry: StatementEntry) -> datetime:
    return datetime.fromtimestamp(entry.at, ZONE)


def _day_first(at: datetime) -> str:
    return f"{at:%d-%m-%Y %H:%M:%S}"


def _grouped(amount: int, cents: int = 0) -> str:
    whole = amount * 100 + cents
    return f"{'-' if whole < 0 else ''}{abs(whole) // 100:,}.{abs(whole) % 100:02}"


def exact(amount: int, cents: int, thousands: str = "") -> str:
    """Without cents where there are none."""
    whole = amount * 100 + cents
    shillings = f"{'-' if whole < 0 else ''}{format(abs(whole) // 100, thousands)}"
    return f"{shillings}.{abs(whole) % 100:02}" if whole % 100 else shillings


def _masked(phone: str) -> str:
    """`255754***100`."""
    digits = phone.lstrip("+")
    return f"{digits[:6]}***{digits[-3:]}"


_LAYOUTS: dict[GatewayName, Callable[[Statement], Rows]] = {
    GatewayName.MPESA: _mpesa,
    GatewayName.AIRTEL_MONEY: _airtel,
    GatewayName.TIGO_PESA: _signed,
    GatewayName.HALOPESA: _signed,
    GatewayName.CLICKPESA: _clickpesa,
    GatewayName.AZAMPAY: _signed,
}
