"""The long polls of a process: requests that wait until the data that they read has changed."""

from dataclasses import dataclass

from malipo.db import Database
from malipo.db.long_poll import LongPoll
from malipo.links.store import customers_attempts
from malipo.outbox import feed
from malipo.payments.listing import transaction_list
from malipo.payments.store import transactions
from malipo.payments.store.transactions import Key
from malipo.payments.transaction import Status
from malipo.webhooks.store import delivery_history


@dataclass(frozen=True)
class LongPolls:
    statuses: LongPoll[Key, Status]
    customers: LongPoll[Key, Status]  # of those who wait on a pay page
    feeds: LongPoll[str, int]
    lists: LongPoll[str, str]
    deliveries: LongPoll[tuple[str, str], tuple[str, int]]

    @classmethod
    def on(cls, database: Database, people_database: Database, customer_database: Database) -> "LongPolls":
        return cls(
            statuses=LongPoll(database, transactions.find_statuses),
            customers=LongPoll(customer_database, customers_attempts.find_statuses),
            feeds=LongPoll(database, feed.find_latest),
            lists=LongPoll(people_database, transaction_list.find_versions),
            deliveries=LongPoll(people_database, delivery_history.find_states),
        )

    def release(self) -> None:
        """End all waits now: the process is stopping."""
        for each in (self.statuses, self.customers, self.feeds, self.lists, self.deliveries):
            each.release()
