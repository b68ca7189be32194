"""The chart of accounts and the kinds of entries have all that the ledger has, and words for it."""

import re

from malipo.books.chart import BY_ACCOUNT, CHART, AccountType, Division, sub_account
from malipo.books.entry import EntryKind, kind_of_house_booking
from malipo.ledger.accounts import Account
from malipo.ledger.house_bookings import HouseBookingKind
from malipo.words import books as words

# By hand: code, account of the ledger, type, name in files.
BY_HAND = """
1010 bank          asset     Assets:Bank
1020 float         asset     Assets:Floats
2010 wallet        liability Liabilities:Wallets
2020 in_flight     liability Liabilities:InFlight
2030 in_settlement liability Liabilities:InSettlement
2040 suspense      liability Liabilities:Suspense
2050 vat           liability Liabilities:VAT
3010 equity        equity    Equity:Opening
4010 fees          income    Income:Fees
4020 interest      income    Income:Interest
4030 other_income  income    Income:Other
4090 rounding      income    Income:Rounding
5010 network_fees  expense   Expenses:NetworkFees
5020 losses        expense   Expenses:Losses
5030 bank_charges  expense   Expenses:BankCharges
5040 taxes         expense   Expenses:Taxes
"""


def test_the_chart_is_the_one_written_by_hand_and_has_every_account() -> None:
    rows = [tuple(line.split()) for line in BY_HAND.strip().splitlines()]
    assert [(each.code, each.account, each.type, each.path) for each in CHART] == rows
    assert set(BY_ACCOUNT) == set(Account) == set(words.ACCOUNTS)
    assert set(words.TYPES) == set(AccountType)
    assert [each.account for each in CHART if each.division is Division.MERCHANT] == [
        Account.WALLET,
        Account.IN_FLIGHT,
        Account.IN_SETTLEMENT,
    ]


def test_every_kind_of_a_house_booking_is_a_kind_of_an_entry_and_has_a_name() -> None:
    assert [each for each in HouseBookingKind if kind_of_house_booking(each) is EntryKind.OTHER] == []
    assert set(words.ENTRIES) == set(EntryKind)


def test_components_of_names_begin_with_a_capital_and_have_what_beancount_reads() -> None:
    for of in ("mer_01k9zabc", "TIGO_PESA", "late"):
        path = sub_account("wallet", of).path
        assert re.fullmatch(r"[A-Z][A-Za-z]+(:[A-Z][A-Za-z0-9-]*)+", path), path
    assert sub_account("wallet", "mer_01k9z").path == "Liabilities:Wallets:Mer-01k9z"
