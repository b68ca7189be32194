"""The oracle: holds what the service says against the networks' book and what merchants were told.

It is asked when everything is quiet. It knows nothing of how the service works, only what must be true:

    paid-twice       a phone was charged or paid more than once for one wish of a merchant
    refunded         a customer got more back than was collected, and neither an operator nor a network was wrong
    cancelled        a payment that its merchant was told is cancelled moved money all the same
    lost             an acknowledged request is not there
    batch            one that was approved lacks payouts, one that was not has some, or it does not end
    doubled          one wish of a merchant became two payments, or one key had two answers
    unaccounted      money moved at a network and the ledger does not say so, nor is an operator shown it
    statement        nor after the networks' statements were imported (statements.py)
    link             a payment link says something else than its payments, or is not told as it should be
    settled-twice    the bank has paid one key from two files of ours, or one wish of a merchant under two keys
    settlement       a settlement is not what the bank's book says, or the ledger is not
    page             a customer was told something that is not so
    pestered         a number was asked more often by pay pages than it may be
    receipt          a payment has no leaf in the receipt log, or a proof or checkpoint is wrong
    not-ended        a payment neither ended nor is shown to an operator
    failed           a payment is FAILED, and neither its network nor an operator has refused it
    held             a payment was sent while operators held all payments
    ledger           `malipo ledger check` finds a difference, or a wallet is below zero
    feed             the event feed has a gap, or a reader saw something else than it holds
    webhook          one was sent before its commit, or with a wrong signature, or not at all
    broke            a part of the service ended with an error that nobody expected
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from malipo.db import Conn, ConnectionLost, Database
from malipo.ledger import check as ledger_check
from malipo.payments.check import transactions as transactions_check
from malipo.payments.store import cases
from simulation.batches import batch_oracle
from simulation.batches.merchant_batches import MerchantBatches
from simulation.database import PaymentRow, SimulatedDatabase, find_payments
from simulation.links.link_oracle import LinkOracle
from simulation.merchants import Merchants, PaymentReplies
from simulation.networks_book import Book, net
from simulation.operators import Operators
from simulation.plan import Plan, PlannedPayment, twins_of
from simulation.postgres_gate import EPOCH
from simulation.receipts.receipt_oracle import ReceiptOracle
from simulation.receivers import Receivers
from simulation.refunds import refund_oracle
from simulation.template import SimulatedMerchant
from simulation.world import World

_INTERNAL_ERROR = 500
_FINAL = ("COMPLETED", "FAILED", "CANCELLED")
_EVENTS = """
    SELECT id, feed_number, subject FROM (
        SELECT merchant_id, id, feed_number, 'payment' AS subject FROM events
        UNION ALL SELECT merchant_id, id, feed_number, 'batch' FROM batch_events
        UNION ALL SELECT merchant_id, id, feed_number, 'link' FROM link_events) AS told
"""
_WITHOUT_QUERY = {("TIGO_PESA", "DISBURSEMENT"), ("HALOPESA", "COLLECTION")}
# What phones with these last digits do: see docs/simulator.md.
_PAID_LATER, _PAID_IN_SECRET, _TAKEN_BACK = "110", "111", "112"
_REFUSED = {
    "COLLECTION": ("101", "102", "103", "110", "111", "112"),
    "DISBURSEMENT": ("101", "102", "110", "111", "112"),
}
# A request that reached its network so soon is found before “not found” counts: see HURRY in world.py.
_IN_TIME_SECONDS = 3.0


@dataclass(frozen=True)
class OracleFinding:
    kind: str
    what: str
    transaction_id: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


class Oracle:
    def __init__(
        self,
        plan: Plan,
        accounts: list[SimulatedMerchant],
        world: World,
        database: SimulatedDatabase,
        book: Book,
        merchants: Merchants,
        batches: MerchantBatches,
        receivers: Receivers,
        operators: Operators,
        links: LinkOracle,
        receipts: ReceiptOracle,
    ) -> None:
        self._plan = plan
        self._accounts = accounts
        self._world = world
        self._database = database
        self._book = book
        self._merchants = merchants
        self._batches = batches
        self._receivers = receivers
        self._operators = operators
        self._links = links
        self._receipts = receipts
        self._findings: list[OracleFinding] = []
        self._early: list[OracleFinding] = []  # what was found in the middle of the run

    async def ask(self) -> list[OracleFinding]:
        self._findings = list(self._early)
        if self._plan.has_customers:
            await self._receipts.check_proofs(self._find)
        listed = await self._check_ledger()
        rows = find_payments(self._database)
        self._check_payments(rows)
        for row in rows:
            self._check_money(row, rows, is_listed=row.id in listed)
            self._check_failed(row, rows)
        self._check_book(rows)
        batch_oracle.check(
            self._batches,
            self._database,
            self._book,
            [row for row in rows if self._is_of_a_wish(row)],
            is_in_lost_time=self._is_in_lost_time,
            find=self._find,
        )
        if self._plan.has_customers:
            self._links.check(is_in_lost_time=self._is_in_lost_time, is_kept=self._is_kept, find=self._find)
            self._receipts.check(self._find)
        self._check_holds(rows)
        self._check_feeds()
        self._check_webhooks()
        self._check_log()
        return self._findings

    def _find(self, kind: str, what: str, transaction_id: str | None = None) -> None:
        self._findings.append(OracleFinding(kind, what, transaction_id))

    async def _check_ledger(self) -> set[str]:
        """And which payments an operator is shown."""
        async with Database.opened(self._world.url, size=1) as database, database.snapshot() as connection:
            self._findings += await self._findings_of(connection)
            if self._plan.has_customers:
                await self._receipts.check_consistency(connection, self._find)
            listed = await cases.find_unsettled(
                connection, unsettled_seconds=self._world.settings.unsettled_seconds
            ) + await cases.find_contradicted(connection)
        return {case.transaction.id for case in listed}

    async def look_at_the_ledger(self) -> None:
        """In the middle of a run, if the database is there. Nothing that is committed may ever differ."""
        with suppress(ConnectionLost):
            async with Database.opened(self._world.url, size=1) as database, database.snapshot() as connection:
                self._early = await self._findings_of(connection)

    async def _findings_of(self, connection: Conn) -> list[OracleFinding]:
        await ledger_check.prepare(connection)
        findings = await ledger_check.check(connection) + await transactions_check.check(connection)
        below = await connection.fetch("SELECT merchant_id, available FROM wallets WHERE available < 0")
        return [OracleFinding("ledger", str(each)) for each in findings] + [
            OracleFinding("ledger", f"the wallet of {row['merchant_id']} is at {row['available']}") for row in below
        ]

    def _check_payments(self, rows: list[PaymentRow]) -> None:
        ids = {row.id for row in rows}
        networks, reports = self._world.simulator.network.memory, refund_oracle.find_reports(self._database)
        for twin in twins_of(self._plan):
            self._check_told(twin, ids)
        for payment in self._plan.payments:
            self._check_told(payment, ids)
            told = self._merchants.told[payment.number]
            of_phone = [row for row in rows if row.phone == payment.phone and row.type == payment.type]
            made = [row.id for row in of_phone if self._is_of_a_wish(row) and not _is_failed_repeat(row, of_phone)]
            wishes = 1 + any(each.twin_of == payment.number for each in twins_of(self._plan))
            if len(made) > wishes:
                self._find("doubled", f"{payment.key} became {len(made)} payments: {made}", made[0])
            times = self._book.times(payment.phone, is_charge=payment.type == "COLLECTION")
            if times > wishes + self._is_approved_again(payment):
                what = f"{payment.key}: {payment.phone} {times} times"
                self._find("paid-twice", what, made[0] if made else None)
            refunds = self._merchants.refunds.told[payment.number]
            refund_oracle.check(
                payment,
                refunds,
                refund_oracle.given_to(payment.phone, rows, networks, reports, refunds.failed),
                ids=ids,
                mistaken=self._operators.mistaken,
                lateness=refund_oracle.lateness(self._plan),
                may_arrive_twice=any(each.kind == "merchant-request-twice" for each in self._plan.faults),
                is_in_lost_time=self._is_in_lost_time,
                find=self._find,
            )
            if self._is_cancellation_kept(told) and times >= wishes:
                self._find("cancelled", f"{payment.key} was cancelled, and {payment.phone} moved money", told.ids[0])

    def _check_told(self, payment: PlannedPayment, ids: set[str]) -> None:
        told = self._merchants.told[payment.number]
        kept = [id_ for id_, at in zip(told.ids, told.acknowledged_at, strict=True) if not self._is_in_lost_time(at)]
        for id_ in kept:
            if id_ not in ids:
                self._find("lost", f"{payment.key} was acknowledged as {id_}, which is not there", id_)
        if len(set(kept)) > 1 and self._database.brought_back_at is None:
            self._find("doubled", f"{payment.key} was answered with {sorted(set(kept))}", kept[0])
        for status in (*told.troubles, *(each for each in told.cancelled if each == _INTERNAL_ERROR)):
            self._find("broke", f"{payment.key} was answered with {status}")

    def _is_cancellation_kept(self, told: PaymentReplies) -> bool:
        """Whether the merchant was told that it is cancelled, and no restore has lost that."""
        if told.cancelled_at is None or told.cancel_asked_at is None:
            return False
        return self._is_kept(told.cancel_asked_at, told.cancelled_at)

    def _is_kept(self, asked_at: float, told_at: float) -> bool:
        """Whether no restore can have lost what was asked for and told then: it was told before the backup, or asked
        for since the backup was brought back."""
        begin, end = self._database.backed_up_at, self._database.brought_back_at
        return begin is None or end is None or told_at < begin or asked_at > end

    def _is_of_a_wish(self, row: PaymentRow) -> bool:
        """Not a refund, nor what operators have adopted by mistake, nor a repeat that they have called one."""
        return not row.is_refund and not row.is_undone and row.id not in self._operators.repeats

    def _is_in_lost_time(self, seconds: float) -> bool:
        """Whether it was acknowledged between the backup and its being brought back."""
        begin, end = self._database.backed_up_at, self._database.brought_back_at
        return begin is not None and end is not None and begin - 1 <= seconds <= end + 1

    def _is_approved_again(self, payment: PlannedPayment) -> bool:
        """A collection that a restore has lost, and that is repeated, is sent unless its network says that it has it.

        Where the network neither finds nor refuses it, the customer decides, and in the simulation always approves:
        once more, and not oftener. A collection that was told before the backup is not lost.
        """
        begin, told = self._database.backed_up_at, self._merchants.told[payment.number]
        if payment.type != "COLLECTION" or begin is None or self._database.brought_back_at is None:
            return False
        is_lost = not any(at < begin for at in told.acknowledged_at)
        return is_lost and any(
            fault.kind == "network-pays-again" and fault.target == payment.channel for fault in self._plan.faults
        )

    def _is_charged_again(self, row: PaymentRow) -> bool:
        """Whether its phone was charged twice, which is excused: one of the two is on the statement only."""
        if self._links.is_charged_again(row.phone, row.key):
            return True
        if row.type != "COLLECTION" or self._book.times(row.phone, is_charge=True) < 2:
            return False
        return any(each.phone == row.phone and self._is_approved_again(each) for each in self._plan.payments)

    def _check_money(self, row: PaymentRow, rows: list[PaymentRow], *, is_listed: bool) -> None:
        if row.status not in _FINAL and not is_listed:
            self._find("not-ended", f"{row.id} is {row.status}, and nobody is shown it", row.id)
        moved = net(self._book.of_row(row, rows))
        expected = moved if row.type == "COLLECTION" else -moved
        if row.floated == expected or is_listed or row.is_borne or row.id in self._operators.mistaken:
            return
        if _is_only_on_the_statement(row) or self._was_corrected_in_lost_time(row):
            return
        if self._is_charged_again(row) or self._was_never_told(row):
            return
        if row.status not in _FINAL:
            return  # Found above.
        self._find(
            "unaccounted",
            f"{row.id} ({row.type} {row.status} of {row.amount}, {row.channel} {row.phone}) moved {moved} at the "
            f"network; the ledger says {abs(row.floated)}",
            row.id,
        )

    def _was_corrected_in_lost_time(self, row: PaymentRow) -> bool:
        """It had ended before the backup, and its network said something else afterwards. That report is lost.

        A payout that FAILED is asked about again, also after a restore, where its network can be asked.
        """
        if row.type == "DISBURSEMENT" and row.status == "FAILED" and (row.channel, row.type) not in _WITHOUT_QUERY:
            return False
        begin = self._database.backed_up_at
        offsets = [abs(fault.seconds) for fault in self._plan.faults if fault.kind == "clock"]
        if begin is None or row.ended_at is None or row.ended_at > begin + max(offsets, default=0):
            return False
        moved = [each for each in self._book.movements if each.reference.endswith(row.key)]
        return any(self._is_in_lost_time(each.at - EPOCH.timestamp()) for each in moved)

    def _was_never_told(self, row: PaymentRow) -> bool:
        """A collection that was refused is not asked about again. No callback that said otherwise was acknowledged."""
        if (row.type, row.status, row.phone[-3:]) != ("COLLECTION", "FAILED", _PAID_LATER):
            return False
        moved_at = min(each.at for each in self._book.movements if each.reference.endswith(row.key))
        return not any(
            each.direction == "out" and each.at >= moved_at and each.verdict.startswith("acknowledged")
            for each in self._world.simulator.seen.newest(phone=row.phone)
        )

    def _check_failed(self, row: PaymentRow, rows: list[PaymentRow]) -> None:
        """A payment does not fail because of silence: not a payout, and not a collection that its network had in time.

        A refund that would be one too many is ended before it is sent.
        """
        is_resolved = row.id in self._operators.ended or row.is_adopted
        if row.status != "FAILED" or row.is_refund or is_resolved or row.phone[-3:] in _REFUSED[row.type]:
            return
        if row.type == "DISBURSEMENT" or self._was_there_in_time(row, rows):
            self._find("failed", f"{row.id} ({row.type} of {row.amount}, {row.channel} {row.phone})", row.id)

    def _was_there_in_time(self, row: PaymentRow, rows: list[PaymentRow]) -> bool:
        """Whether money moved for a request that reached its network soon after it was claimed, as far as clocks
        agree."""
        has_clocks = any(fault.kind == "clock" for fault in self._plan.faults)
        movements = self._book.of_row(row, rows)
        if has_clocks or row.processing_at is None or net(movements) <= 0:
            return False
        known = self._world.simulator.network.memory.by_id
        taken_at = min(known[each.transaction_id].taken_at for each in movements) - EPOCH.timestamp()
        return taken_at < row.processing_at + _IN_TIME_SECONDS

    def _check_book(self, rows: list[PaymentRow]) -> None:
        keys = {row.key for row in rows}
        adopted = {
            movement.transaction_id for row in rows if row.is_adopted for movement in self._book.of_row(row, rows)
        }
        for movement in self._book.movements:
            if movement.transaction_id in adopted or any(movement.reference.endswith(key) for key in keys):
                continue
            if self._is_in_lost_time(movement.at - EPOCH.timestamp()) or self._was_taken_in_lost_time(
                movement.reference
            ):
                continue
            self._find("unaccounted", f"{movement.phone} {movement.kind} {movement.amount}: no payment has its key")

    def _check_holds(self, rows: list[PaymentRow]) -> None:
        """Where all clocks agree, and no hold was lost with a database."""
        if any(fault.kind == "clock" for fault in self._plan.faults) or self._database.brought_back_at is not None:
            return
        if len(self._operators.held) != 1:
            return  # The end of one hold ends them all.
        [(begin, end)] = self._operators.held
        for row in rows:
            if row.processing_at is not None and begin < row.processing_at < end:
                self._find("held", f"{row.id} was sent at {row.processing_at:.3f}, held since {begin:.3f}", row.id)

    def _was_taken_in_lost_time(self, reference: str) -> bool:
        known = self._world.simulator.network.memory.by_id.values()
        return any(
            each.reference == reference and self._is_in_lost_time(each.taken_at - EPOCH.timestamp()) for each in known
        )

    def _check_feeds(self) -> None:
        for number, merchant in enumerate(self._accounts):
            rows = self._database.look().ask(f"{_EVENTS} WHERE merchant_id = '{merchant.id}' ORDER BY feed_number, id")
            numbers = [row[1] for row in rows]
            if numbers != [str(each) for each in range(1, len(rows) + 1)]:
                self._find("feed", f"the numbers of merchant {number} are {numbers}")
            of_payments = [row[0] for row in rows if row[2] == "payment"]  # Who reads without `types` sees no others.
            read = self._merchants.feeds[number][-1]
            if read != of_payments:
                found = f"merchant {number} read {len(read)} events, and there are {len(of_payments)}: {read[-2:]}"
                self._find("feed", found)

    def _check_webhooks(self) -> None:
        for problem in self._receivers.problems:
            self._find("webhook", problem)
        rows = self._database.look().ask(
            "SELECT merchant_id, event_id, state FROM webhook_deliveries ORDER BY merchant_id, event_id"
        )
        numbers = {merchant.id: number for number, merchant in enumerate(self._accounts)}
        received = set(self._receivers.received)
        for merchant_id, event_id, state in rows:
            is_received = (numbers[str(merchant_id)], str(event_id)) in received
            if state != "DELIVERED" or not is_received:
                self._find("webhook", f"{event_id} is {state}, received: {is_received}")
        events = len(self._database.look().ask(_EVENTS))
        if str(events) != str(len(rows)):
            self._find("webhook", f"{events} events have {len(rows)} deliveries")

    def _check_log(self) -> None:
        for line in self._world.logged:
            if "_broke" in line or "part_ended" in line or "never retrieved" in line:
                self._find("broke", line[:600])


def _is_failed_repeat(row: PaymentRow, of_wish: list[PaymentRow]) -> bool:
    """A request whose payment was lost and adopted without its key, made again: its network called it FAILED."""
    is_adopted = any(each.is_adopted and not each.is_undone for each in of_wish if each is not row)
    return is_adopted and not row.is_adopted and row.status == "FAILED" and row.floated == 0


def _is_only_on_the_statement(row: PaymentRow) -> bool:
    """The network changed its mind without a word, after an answer that nobody has a reason to doubt.

    A COMPLETED payment is not asked about again, nor a collection that was refused.
    """
    digits = row.phone[-3:]
    if digits == _TAKEN_BACK:
        return row.status == "COMPLETED"
    if row.status != "FAILED" or digits not in (_PAID_LATER, _PAID_IN_SECRET):
        return False
    return (row.channel, row.type) in _WITHOUT_QUERY or (digits == _PAID_IN_SECRET and row.type == "COLLECTION")


def moment(seconds: float) -> str:
    return (EPOCH + timedelta(seconds=seconds)).strftime("%H:%M:%S.%f")[:-3]
