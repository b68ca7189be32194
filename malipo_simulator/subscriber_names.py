"""The names of subscribers: by the number, always the same, on every network. They are made up.

The last three digits decide what a look-up says, where it is not simply the name.
"""

from typing import NamedTuple

from malipo_simulator.behaviour import Outcome, PaymentKind, plan_of

_FIRST = ("ASHA", "JUMA", "NEEMA", "BARAKA", "REHEMA", "HAMISI", "UPENDO", "EMMANUEL", "ZAINABU", "GODFREY", "MWAJUMA")
_MIDDLE = ("SAIDI", "JOSEPH", "RAMADHANI", "PETER", "ALLY", "DANIEL", "ATHUMANI")
_LAST = ("MUSHI", "KIMARO", "MWAKALINGA", "MASSAWE", "SHAYO", "NGOWI", "LYIMO", "MOSHA", "CHUWA", "TEMU", "KAPINGA")

BARRED_DIGITS = "121"
NAMELESS_DIGITS = "122"


class Subscriber(NamedTuple):
    first_name: str
    last_name: str  # the middle name, too
    is_registered: bool = True
    is_barred: bool = False

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


def subscriber_of(phone: str) -> Subscriber:
    if plan_of(PaymentKind.DISBURSEMENT, phone).outcome is Outcome.NOT_REGISTERED:
        return Subscriber("", "", is_registered=False)
    digits = phone[-3:]
    if digits == NAMELESS_DIGITS:
        return Subscriber("", "")
    number = int(phone.removeprefix("+") or 0)  # A preview may come without one.
    last = f"{_MIDDLE[number % len(_MIDDLE)]} {_LAST[number // 7 % len(_LAST)]}"
    return Subscriber(_FIRST[number // 3 % len(_FIRST)], last, is_barred=digits == BARRED_DIGITS)
