"""The networks' book: what really moved. It is the only witness of the oracle that malipo has no part in.

A payment is known to a network by its key; some connectors put a prefix of the contract before it.
"""

from malipo_simulator.network import Network
from malipo_simulator.state import Movement


class Book:
    def __init__(self, network: Network) -> None:
        self._network = network

    @property
    def movements(self) -> list[Movement]:
        return self._network.memory.book

    def moved(self, reference: str) -> int:
        """Shillings that moved under a key and have not gone back."""
        return sum(-each.amount if each.is_reversal else each.amount for each in self._of(reference))

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
