"""Gauges of the whole installation, read from the database: waiting and unsettled payments, and where money lies.

Each process that reads them has all of them, so alarms take the largest of all processes. They are NaN before the first
look, and keep their last values; `malipo_money_seen_timestamp_seconds` is the time of the last look.
"""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Gauge

_BY_LABELS: dict[str, tuple[str, list[str]]] = {
    "malipo_money_seen_timestamp_seconds": ("When the database was last looked at; `often` or `rarely`", ["look"]),
    "malipo_unsettled_payments": ("Payments that operators must look at", ["kind"]),
    "malipo_unsettled_shillings": ("Their amounts together", ["kind"]),
    "malipo_unsettled_oldest_seconds": ("For how long the oldest of them has been unsettled", ["kind"]),
    "malipo_pending_oldest_seconds": ("How long the oldest PENDING payment has waited", ["channel", "type"]),
    "malipo_channel_connected": ("1 if a network is connected that takes such payments", ["channel", "type"]),
    "malipo_disk_free_bytes": ("What is free on the disk of a folder of this process", ["disk"]),
    "malipo_disk_size_bytes": ("How large that disk is", ["disk"]),
    "malipo_send_backlog": ("Payments that wait to be sent", ["channel", "type"]),
    "malipo_query_backlog": ("Payments whose network should have been queried by now", ["channel", "type"]),
    "malipo_counting_backlog": ("What the rollups have not counted yet", ["rollup"]),
    "malipo_float_shillings": ("What was collected less what was paid out at a network, by the ledger", ["channel"]),
    "malipo_float_reading_shillings": ("What a network was last seen to hold, in all accounts", ["channel"]),
    "malipo_float_reading_age_seconds": ("How old the latest reading of each source is", ["channel", "source"]),
    "malipo_float_in_flight_shillings": ("Payouts that have not ended and are paid from that float", ["channel"]),
    "malipo_float_cover_shillings": ("The reading, or else the ledger's float, less payouts in flight", ["channel"]),
    "malipo_float_low_shillings": ("Below this the cover of a channel is low (MALIPO_FLOAT_LOW)", ["channel"]),
}
_ALONE = {
    "malipo_database_up": "1 if the database answered when it was last looked at",
    "malipo_database_writable": "1 if the database took a write when it was last tried",
    "malipo_database_schema": "The number of the last migration of the database",
    "malipo_code_schema": "The number of the last migration that this process knows",
    "malipo_workers_alive": "Workers that have looked at the database in the last 30 seconds",
    "malipo_wal_archiving": "1 if the database archives its log (archive_mode)",
    "malipo_wal_archive_failing": "1 if the last try to archive a file of the log has failed",
    "malipo_wal_archive_failed": "How often that has failed since the server's statistics began",
    "malipo_database_bytes": "How large the database is",
    "malipo_webhook_backlog": "Deliveries that are due and that no worker has",
    "malipo_webhook_oldest_seconds": "How long the oldest of them has been due",
    "malipo_events_unnumbered": "Events that are not in their feed yet",
    "malipo_events_unnumbered_oldest_seconds": "How long the oldest of them has waited",
    "malipo_webhooks_exhausted": "Failed deliveries that are still stored",
    "malipo_webhook_endpoints_disabled": "Endpoints that were disabled because they failed",
    "malipo_receipt_log_unsigned_leaves": "Leaves of the receipt log that no checkpoint covers",
    "malipo_receipt_log_unsigned_seconds": "How old the last checkpoint is, if there are such leaves",
    "malipo_receipt_log_behind_events": "Events that the receipt log has not looked at",
    "malipo_messages_waiting": "Messages by e-mail that wait to be sent",
    "malipo_messages_oldest_seconds": "How long ago the oldest of them was written",
    "malipo_settlements_overdue": "Settlements that no statement has, three banking days after they were sent",
    "malipo_settlements_not_sent": "Settlements that no approved file has, three banking days after their request",
    "malipo_settlements_to_stopped_accounts": "Settlements in approved files whose bank account was stopped since",
    "malipo_bank_exceptions": "Lines of our bank's statements that nothing of ours fits",
    "malipo_bank_exceptions_oldest_seconds": "Seconds since the oldest of them was found",
    "malipo_messages_refused": "Messages that the mail server has refused within a day",
    "malipo_unknown_callbacks": "Callbacks about payments that we do not have",
    "malipo_suspense_shillings": "The balance of the account suspense",
    "malipo_owed_shillings": "What wallets owe by corrections",
    "malipo_safeguarding_difference_shillings": "What was there at the last close, less what merchants owned",
    "malipo_safeguarding_unexplained_shillings": "The part of that which is neither the house's own nor explained",
    "malipo_float_reading_interval_seconds": "How often workers ask networks for the balance; 0: never",
    "malipo_ledger_check_interval_seconds": "How often workers check the ledger; 0: never",
    "malipo_ledger_check_clean_timestamp_seconds": "When the last clean ledger check ended; 0: there was none",
    "malipo_ledger_check_finished_timestamp_seconds": "When the last ledger check ended; 0: there was none",
    "malipo_ledger_check_seconds": "How long the last one took, with its pauses",
    "malipo_ledger_check_busy_seconds": "How long its pieces took",
    "malipo_ledger_check_longest_piece_seconds": "How long its longest piece took",
    "malipo_ledger_check_newer_rows": "What the last one could not check, because a newer version wrote it",
    "malipo_ledger_check_findings": "What the last one has found, and the one that runs",
}


class MoneyGauges:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._by_labels = {
            name: Gauge(name, help_, labels, registry=registry) for name, (help_, labels) in _BY_LABELS.items()
        }
        self._alone = {name: Gauge(name, help_, registry=registry) for name, help_ in _ALONE.items()}
        for gauge in self._alone.values():
            gauge.set(float("nan"))

    def set(self, name: str, value: float, *labels: str) -> None:
        if labels:
            self._by_labels[f"malipo_{name}"].labels(*labels).set(value)
        else:
            self._alone[f"malipo_{name}"].set(value)

    def set_all(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.set(name, value)

    def set_each(self, name: str, values: Mapping[tuple[str, ...], float], expected: Iterable[tuple[str, ...]]) -> None:
        """Set a gauge for all labels. Labels without a value become 0, and do not keep their last value."""
        for labels in {*expected, *values}:
            self.set(name, values.get(labels, 0.0), *labels)
