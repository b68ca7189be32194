"""After the commit of a new status: counts it in the metrics, and wakes the sender, the fan-out and long polls."""

from collections.abc import Iterable
from dataclasses import dataclass

from malipo.db.notify import Notifier
from malipo.metrics.process_metrics import Metrics
from malipo.outbox.event import EVENTS_TOPIC
from malipo.payments.status_effects import event_of
from malipo.payments.transaction import Transaction


@dataclass(frozen=True)
class StatusSignals:
    notifier: Notifier
    metrics: Metrics

    def reached(self, transaction: Transaction) -> None:
        """Count the status that a transaction has reached, and wake the fan-out if there is an event of it."""
        self.metrics.count_transaction(transaction.type, transaction.channel, transaction.status)
        if event_of(transaction) is not None:
            self.notifier.notify(EVENTS_TOPIC)

    def count(self, transactions: Iterable[Transaction]) -> None:
        for each in transactions:
            self.metrics.count_transaction(each.type, each.channel, each.status)

    def wake_sender(self, channel: str) -> None:
        """Wake the sender: there is a payment to send."""
        self.notifier.notify(channel)

    def wake_fan_out(self) -> None:
        """Wake the fan-out: there is a new event."""
        self.notifier.notify(EVENTS_TOPIC)
