"""An account of ours at the simulated bank, and a line of its statement."""

from datetime import date

from malipo.bank.line_decision import BankLine
from malipo.bank.payer_account import PayerAccount
from malipo_simulator.bank.bank import Bank

_BANK = Bank()
ACCOUNT = PayerAccount(id="pya_1", bic=_BANK.bic, number=_BANK.account, name=_BANK.name)
MONDAY, TUESDAY, WEDNESDAY, THURSDAY, FRIDAY = (date(2026, 11, day) for day in (16, 17, 18, 19, 20))
KEYS = ("0123456789ABCDEF", "1123456789ABCDEF", "2123456789ABCDEF")
MESSAGE = "MKDMGZ0AAAAAAAAA"


def line(id_: int, cents: int, **values: object) -> BankLine:
    usual = {"id": id_, "payer_account_id": ACCOUNT.id, "booked_on": MONDAY, "cents": cents}
    return BankLine(**{**usual, **values})  # type: ignore[arg-type]
