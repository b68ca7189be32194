"""Faults in the books: days of late moves, the journal, money at the bank, safeguarding, suspense."""

from tests.faults.fault import Fault

_LATE = ("books/test_late_moves.py",)
_BANK = ("ledger/test_bank_bookings.py",)
_SUSPENSE = ("ledger/test_suspense.py",)
_SAFEGUARDING = ("reconciliation/close/test_safeguarding.py",)

FAULTS = (
    Fault(
        "a late move counts on its own day",
        "find_balances_before",
        'counted = f"created_at < $2 AND NOT (created_at >= $3 AND {late.is_late})"',
        'counted = "created_at < $2 AND $3::timestamptz IS NOT NULL"',
        "A period begins with other balances than the close before it has signed.",
        _LATE,
    ),
    Fault(
        "late moves are recorded without a look at the signed sums",
        "record",
        "if late and await store.sum_unseen(tx, before.day) == late:",
        "if late:",
        "After a dump that was loaded again every move of the day counts on the next one.",
        _LATE,
    ),
    Fault(
        "late moves that cannot be told apart stay in their day",
        "find_late",
        "return LateMoves(day=day, is_late=is_late) if found == late else LateMoves(day=day, routes=late)",
        "return LateMoves(day=day, is_late=is_late)",
        "A closed day of the books differs from what its close has signed.",
        _LATE,
    ),
    Fault(
        "transaction ids are compared by their lower half",
        "is_unseen",
        "SELECT s.ends - {2**31}",
        "SELECT s.ends % {2**32} - {2**31}",
        "After four thousand million transactions every move is on its own day, or on the next one.",
        _LATE,
    ),
    Fault(
        "the assertions of a file are sums of its own entries",
        "BeancountJournal.closing",
        'amount = -sum(sum_ for name, sum_ in closing.signed.items() if name.partition(" ")[0] == each.account)',
        "amount = sum(sum_ for part, sum_ in closing.balances.items() if part.account == each.account)",
        "A program from outside finds no entry that is missing.",
        ("books/test_outside_programs.py",),
    ),
    Fault(
        "a voucher of an open day is given out",
        "require_closed",
        "if first is None or last is None or period.last > last:",
        "if first is None or last is None:",
        "An accountant imports a day, and what is dated into it later is in no program.",
        ("books/test_vouchers.py",),
    ),
    Fault(
        "what went back comes in once more",
        "BankBooking.ends",
        "return (place, other) if comes_in is not self.is_back else (other, place)",
        "return (place, other) if comes_in else (other, place)",
        "What the owners took out is booked as if they had paid it in.",
        _BANK,
    ),
    Fault(
        "an opening balance at a network is booked after a close",
        "book",
        "if booking.channel and opened is not None:",
        "if booking.channel and opened is None:",
        "The float has what its first statement had already opened with.",
        _BANK,
    ),
    Fault(
        "what two operators accepted counts as explained",
        "safeguarding_of",
        "if reason not in _UNEXPLAINED)",
        "if reason is not OpenReason.UNEXPLAINED)",
        "Money of somebody else is counted as the house's own, and nobody is alerted.",
        _SAFEGUARDING,
    ),
    Fault(
        "suspense is the house's own",
        "safeguarding_of",
        "others = close.balances.keys() - {*OWNED, *names}",
        "others = close.balances.keys() - {*OWNED[:3], *names}",
        "The house may spend money that is somebody's.",
        _SAFEGUARDING,
    ),
    Fault(
        "more is released than is in suspense",
        "require_left",
        "if amount > left:",
        "if left <= 0:",
        "A merchant is credited money that nobody has paid.",
        _SUSPENSE,
    ),
    Fault(
        "two releases do not wait for each other",
        "require_left",
        "await store.lock(tx, booking_id)\n    left = await",
        "left = await",
        "Two approvals at once credit the same money twice.",
        _SUSPENSE,
    ),
    Fault(
        "a booking of which a merchant has something is undone",
        "require_unreleased",
        "if await store.is_released(tx, booking_id):",
        "if False:",
        "The merchant has money that is nowhere.",
        _SUSPENSE,
    ),
)
