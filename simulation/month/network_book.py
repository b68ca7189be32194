"""What the networks have moved in the month, by their own books, and the statements that their portals show of it.

Nothing here reads malipo's database: a network knows what it was sent, and what it did.
"""

import csv
import random
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

from malipo.networks.connector import Channel
from malipo.payments.transaction import Transaction, Type
from malipo_simulator.statements.account import ZONE

OPENING = 300_000_000  # what each account held when the month began
_FEE_CENTS = (15_050, 20_000, 30_025, 0)  # of a payout: some have cents
_CENTS = 100


@dataclass(frozen=True)
class NetworkLine:
    at: datetime
    receipt: str
    cents: int  # above zero came in
    kind: str  # of the layout: payment, fee, bank, reversal
    key: str = ""
    phone: str = ""
    linked: str = ""


@dataclass
class NetworkAccount:
    """Our account at one network."""

    channel: Channel
    chance: random.Random
    lines: list[NetworkLine] = field(default_factory=list)
    paid: dict[str, NetworkLine] = field(default_factory=dict)  # by our key
    _receipts: int = 0

    def receipt(self) -> str:
        self._receipts += 1
        return f"{self.channel[0]}{self._receipts:09}"

    def pay(self, payment: Transaction, at: datetime, *, amount: int | None = None) -> NetworkLine:
        """Move the money of a payment. The same key never pays twice."""
        if (known := self.paid.get(payment.network_key)) is not None:
            return known
        line = self._payment_line(payment, at, payment.amount if amount is None else amount)
        self.paid[payment.network_key] = line
        self._add(line)
        if payment.type is Type.DISBURSEMENT and (fee := self.chance.choice(_FEE_CENTS)):
            self._add(NetworkLine(at, line.receipt, -fee, "fee"))
        return line

    def pay_again(self, payment: Transaction, at: datetime) -> None:
        """A fault of the network: it shows the payment a second time, under another receipt."""
        self._add(self._payment_line(payment, at, payment.amount))

    def take_back(self, line: NetworkLine, at: datetime) -> None:
        self._add(NetworkLine(at, self.receipt(), -line.cents, "reversal", line.key, line.phone, line.receipt))

    def transfer(self, change: int, reference: str, at: datetime) -> None:
        self._add(NetworkLine(at, reference, change * _CENTS, "bank"))

    def _payment_line(self, payment: Transaction, at: datetime, amount: int) -> NetworkLine:
        sign = 1 if payment.type is Type.COLLECTION else -1
        return NetworkLine(at, self.receipt(), sign * amount * _CENTS, "payment", payment.network_key, payment.phone)

    def _add(self, line: NetworkLine) -> None:
        self.lines.append(line)

    def statement(self, day: date, folder: Path, number: int, *, until: datetime | None = None) -> Path:
        """The statement of a day, as a table; `until` a moment of it."""
        begins = datetime.combine(day, datetime.min.time(), ZONE)
        ends = until or begins + timedelta(days=1)
        before = OPENING * _CENTS + sum(each.cents for each in self.lines if each.at < begins)
        own = sorted((each for each in self.lines if begins <= each.at < ends), key=lambda each: each.at)
        balance, rows = before, list[list[object]]()
        for each in own:
            balance += each.cents
            rows.append(
                [
                    f"{each.at.astimezone(ZONE):%Y-%m-%d %H:%M:%S}",
                    each.receipt,
                    _exact(each.cents),
                    _exact(balance),
                    each.kind,
                    each.key,
                    each.phone,
                    each.linked,
                ]
            )
        path = folder / f"{self.channel}-{day}-{number}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["from", f"{begins:%Y-%m-%d %H:%M:%S}", "to", f"{ends.astimezone(ZONE):%Y-%m-%d %H:%M:%S}"])
            writer.writerow(["opening balance", _exact(before)])
            writer.writerow(["closing balance", _exact(balance)])
            writer.writerow(["time", "receipt", "amount", "balance", "class", "reference", "phone", "linked receipt"])
            writer.writerows(rows)
        return path


def _exact(cents: int) -> str:
    sign, whole = "-" if cents < 0 else "", abs(cents)
    return f"{sign}{whole // _CENTS}" + (f".{whole % _CENTS:02}" if whole % _CENTS else "")
