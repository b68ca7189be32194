"""Words of the end of a month: what is missing, what is open, and why there is no archive yet. Pure."""

from malipo.month_end.checklist import ArchiveRefusal, MonthPoint
from malipo.month_end.month import MonthRefusal

SENTENCES: dict[str, str] = {
    MonthRefusal.NO_MONTH: "{text!r} is no month. Write it as 2026-10.",
    ArchiveRefusal.NOT_CLOSED: "Not every day of {month} is closed: {days}. A month is archived when all of it is "
    "closed.",
    ArchiveRefusal.NOTHING_CLOSED: "No day of {month} is closed.",
    ArchiveRefusal.DIFFERS: "The ledger differs from the signed close of {day}, so there is no archive.",
    ArchiveRefusal.NO_KEY: "The key that signs closes cannot be decrypted, so nothing would sign the archive. Is "
    "MALIPO_SECRET_KEY that of this installation?",
    MonthPoint.NOT_OVER: "{month} is not over.",
    MonthPoint.NOT_CLOSED: "Days that are not closed: {days}.",
    MonthPoint.NETWORK_STATEMENT: "Statements of {channel} are missing: {days}.",
    MonthPoint.BANK_STATEMENT: "Statements of the bank account {account} are missing: {days}.",
    MonthPoint.DIFFERS: "The ledger differs from the signed close of {day}: {accounts}.",
    MonthPoint.BUYERS: "Merchants whose invoices would have no TIN or no address: {count} ({names}).",
    MonthPoint.INVOICES: "Merchants whose fees are not invoiced: {count}.",
    MonthPoint.SHORT: "At the end of {day} TZS {amount} less is there than merchants own.",
    MonthPoint.UNEXPLAINED: "At the end of {day} TZS {amount} are neither the house's own nor explained.",
    MonthPoint.BANK_UNEXPLAINED: "Nothing explains TZS {amount} between the bank's balance and the books.",
    MonthPoint.BANK_OURS_ONLY: "In the books for days, and not at the bank: {count}, TZS {amount}.",
    MonthPoint.UNANSWERED: "Settlements that were sent more than {days} banking days ago, and of which the bank has "
    "said nothing: {count}, TZS {amount}.",
    MonthPoint.CLOSED_WITHOUT: "Closed without a statement of {channel}: {days}.",
    MonthPoint.ACCEPTED: "Closed with a difference that two operators accepted: {days}.",
    MonthPoint.PAYMENTS: "Payments that have not ended: {count}.",
    MonthPoint.SETTLEMENTS: "Settlements under way: {count}, TZS {amount}.",
    MonthPoint.EXCEPTIONS: "Exceptions of networks: {count}, TZS {amount}.",
    MonthPoint.BANK_LINES: "Lines of the bank without a place: {count}, TZS {amount}.",
    MonthPoint.BANK_LATER: "Lines of the bank that the books of this month do not have: {count}, TZS {amount}.",
    MonthPoint.SUSPENSE: "Causes in suspense: {count}, TZS {amount} in all.",
    MonthPoint.PROPOSALS: "What waits for another operator: {count}.",
}
