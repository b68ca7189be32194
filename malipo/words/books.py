"""Words of the books: names of accounts, of kinds of entries, and of what stands in the files. Pure."""

from malipo.books.chart import AccountType, ChartRefusal
from malipo.books.entry import EntryKind
from malipo.books.read_journal import JournalRefusal
from malipo.books.vouchers import VoucherRefusal
from malipo.ledger.suspense import SuspenseRefusal

ACCOUNTS = {
    "bank": "Bank",
    "float": "Floats at networks",
    "wallet": "Merchants' wallets",
    "in_flight": "Payouts in flight",
    "in_settlement": "Settlements under way",
    "suspense": "Suspense",
    "fees": "Fees earned",
    "equity": "Opening balances and equity",
    "interest": "Interest of the bank",
    "other_income": "Other income",
    "bank_charges": "Charges of the bank",
    "taxes": "Taxes paid",
    "vat": "VAT owed",
    "rounding": "Rounding of cents",
    "network_fees": "Charges of networks",
    "losses": "Written off",
}
ENTRIES = {
    EntryKind.OPENING: "Opening balances",
    EntryKind.COLLECTION: "Collection",
    EntryKind.PAYOUT_RESERVED: "Payout reserved",
    EntryKind.PAYOUT_PAID: "Payout paid",
    EntryKind.PAYOUT_GIVEN_BACK: "Payout given back",
    EntryKind.CONTRADICTION: "The network reports another outcome",
    EntryKind.RESOLUTION: "Correction",
    EntryKind.TOP_UP: "Top-up",
    EntryKind.SETTLEMENT: "Settlement",
    EntryKind.SETTLEMENT_RESERVED: "Settlement reserved",
    EntryKind.SETTLEMENT_PAID: "Settlement paid",
    EntryKind.SETTLEMENT_GIVEN_BACK: "Settlement given back",
    EntryKind.BANK_TRANSFER: "Transfer between network and bank",
    EntryKind.NETWORK_FEE: "Charges of a network",
    EntryKind.SWEEP: "Sweep between accounts at a network",
    EntryKind.LINE: "Decision about a line of a statement",
    EntryKind.BANK_LINE: "Decision about a line of the bank",
    EntryKind.SUSPENSE_RELEASE: "Out of suspense",
    EntryKind.SUSPENSE_TAKE_BACK: "Back into suspense",
    EntryKind.ROUNDING: "Cents that add up to a shilling",
    EntryKind.OPENING_BALANCE: "Opening balance",
    EntryKind.CAPITAL: "Capital of the owners",
    EntryKind.INTEREST: "Interest",
    EntryKind.OTHER_INCOME: "Other income",
    EntryKind.BANK_CHARGE: "Charge of the bank",
    EntryKind.TAX: "Tax",
    EntryKind.VAT: "VAT of an invoice",
    EntryKind.VAT_PAYMENT: "VAT paid",
    EntryKind.UNDO: "Booking undone",
    EntryKind.LATE: "Committed after the close of the day",
    EntryKind.OTHER: "Other",
}
# Why something is in suspense: the kind of its cause.
SUSPENSE_CAUSES = {
    "payment": "A network has reported another outcome of a payment",
    "settlement": "The bank has paid a settlement that was lost",
    "sweep": ENTRIES[EntryKind.SWEEP],
    "line": ENTRIES[EntryKind.LINE],
    "bank_line": ENTRIES[EntryKind.BANK_LINE],
}
TITLE = "malipo, {first} to {last}"
VOUCHER = "Payments and bookings of the day"
TYPES = {
    AccountType.ASSET: "Asset",
    AccountType.LIABILITY: "Liability",
    AccountType.EQUITY: "Equity",
    AccountType.INCOME: "Income",
    AccountType.EXPENSE: "Expense",
}
CLOSING = "Balances of the closed day"
LATE_PART = "Late moves of a closed day"

SENTENCES: dict[str, str] = {
    ChartRefusal.UNKNOWN_ACCOUNT: "The chart of accounts does not have the account {account}: a newer version has "
    "written it. Use that version.",
    VoucherRefusal.NOT_CLOSED: "{day} is not closed. Only closed days have vouchers, because more may be dated "
    "into the others.",
    SuspenseRefusal.NO_SUCH: "No booking {name!r} has put anything into suspense.",
    SuspenseRefusal.TOO_MUCH: "The booking {booking} has only {left} left in suspense.",
    SuspenseRefusal.RELEASED: "A merchant has money of the booking {booking}, so it cannot be undone: take that "
    "back first.",
    SuspenseRefusal.NOT_RELEASED: "The merchant has only {released} of the booking {booking}.",
    JournalRefusal.ENDS_BEFORE: "The period from {first} to {last} ends before it begins.",
}
