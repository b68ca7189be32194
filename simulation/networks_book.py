"""The networks' book: what really moved. It is the only witness of the oracle that malipo has no part in.

A payment is known to a network by its key; some connectors put a prefix of the contract before it.
"""

from collections.abc import Collection, Iterable, Sequence

from malipo_simulator.network import Network
from malipo_simulator.state import Movement
from malipo_simulator.statements.account import receipt_in_account
from malipo_simulator.transaction import Transaction
from simulation.database import PaymentRow


def net(movements: Iterable[Movement]) -> int:
    """Shillings that have not gone back."""
    return sum(-each.amount if each.is_reversal else each.amount for each in movements)


class Book:
    def __init__(self, network: Network) -> None:
        self._network = network

    @property
    def movements(self) -> list[Movement]:
        return self._network.memory.book

    @property
    def transactions(self) -> list[Transaction]:
        """What the networks were asked for, whether or not money has moved."""
        return list(self._network.memory.by_id.values())

    def moved(self, reference: str) -> int:
        """Shillings that moved under a key and have not gone back."""
        return net(self._of(reference))

    def of_row(self, row: PaymentRow, rows: Sequence[PaymentRow]) -> list[Movement]:
        """What moved for a payment: under its key; for one that was adopted, what its line says.

        A line without a key may have been adopted under another one. Then what moved is not that of its key's payment.
        But where operators have matched it with another payment of the same number and amount, the two have changed
        places: what moved under the other's key is this one's.
        """
        if row.is_undone:
            return []
        if row.is_adopted:
            return self.of_receipt(row.receipt)
        adopted = {each.receipt for each in rows if each.is_adopted and not each.is_undone}
        return self.under_key(row.key, without=adopted) + self._of_exchanged(row, rows, adopted)

    def _of_exchanged(self, row: PaymentRow, rows: Sequence[PaymentRow], adopted: Collection[str]) -> list[Movement]:
        lines = {self._receipt_of(each) for each in self._of(row.key)}
        has_line = [each for each in rows if each.is_adopted and not each.is_undone and each.receipt in lines]
        alike = [each for each in has_line if each.key != row.key and _terms_of(each) == _terms_of(row)]
        return [movement for other in alike for movement in self.under_key(other.key, without=adopted)]

    def under_key(self, reference: str, *, without: Collection[str] = ()) -> list[Movement]:
        """What moved under a key, except on lines with these receipts."""
        return [each for each in self._of(reference) if self._receipt_of(each) not in without]

    def of_receipt(self, receipt: str) -> list[Movement]:
        return [each for each in self.movements if self._receipt_of(each) == receipt]

    def _receipt_of(self, movement: Movement) -> str:
        return receipt_in_account(self._network.memory.by_id[movement.transaction_id])

    def times(self, phone: str, *, is_charge: bool) -> int:
        """How often a phone was charged or paid, whether or not the money went back."""
        kind = "charged" if is_charge else "paid"
        return sum(1 for each in self.movements if (each.phone, each.kind) == (phone, kind) and not each.is_reversal)

    def paid_to(self, phone: str) -> int:
        """Shillings that a phone was paid, and that have not gone back."""
        # A payout that is taken back is charged to the phone.
        payouts = [each for each in self.movements if each.phone == phone and (each.kind == "paid") != each.is_reversal]
        return sum(-each.amount if each.is_reversal else each.amount for each in payouts)

    def is_paid(self, reference: str, channel: str) -> bool | None:
        """None while the network has not decided, or may still change its mind."""
        for found in self._network.memory.by_id.values():
            is_it = found.reference.endswith(reference) and found.channel == channel
            if is_it and (found.outcome is None or found.id in self._timers):
                return None
        return self.moved(reference) > 0

    @property
    def _timers(self) -> dict[str, object]:
        return {id_: timer for id_, timer in self._network.timers.items() if not timer.cancelled()}

    def _of(self, reference: str) -> list[Movement]:
        return [each for each in self.movements if each.reference.endswith(reference)]


def _terms_of(row: PaymentRow) -> tuple[str, str, str, str, int]:
    return row.merchant_id, row.type, row.channel, row.phone, row.amount
