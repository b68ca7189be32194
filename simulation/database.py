"""The database of one run: made from the template, stopped, started again, backed up, brought back; its payments."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from simulation.blocking_connection import BlockingConnection
from simulation.postgres_gate import EPOCH, PostgresGate
from simulation.template import TEMPLATE, Server


class SimulatedDatabase:
    def __init__(self, server: Server, name: str) -> None:
        self._server = server
        self._name = name
        self._backup = f"{name}_backup"
        self._gate: PostgresGate | None = None
        self._look: BlockingConnection | None = None
        self._starts = 1
        self.backed_up_at: float | None = None
        self.brought_back_at: float | None = None
        self._ask(
            f"DROP DATABASE IF EXISTS {name} WITH (FORCE)",
            f"DROP DATABASE IF EXISTS {self._backup} WITH (FORCE)",
            f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY = FILE_COPY",
        )

    @property
    def url(self) -> str:
        return self._server.url_of(self._name)

    def join(self, gate: PostgresGate) -> None:
        self._gate = gate

    def look(self) -> BlockingConnection:
        """A connection beside the loop, which sees what is committed. For whoever looks and changes nothing."""
        if self._look is None:
            self._look = self._server.connect(self._name)
        return self._look

    def stop(self) -> None:
        """As a crash: every connection and every transaction under way is lost."""
        assert self._gate is not None
        self._gate.is_up = False
        self._gate.cut_all()

    def start_again(self) -> None:
        """It is another server from now on, as its start time says."""
        assert self._gate is not None
        self._starts += 1
        moment = (EPOCH + timedelta(seconds=self._gate.loop.time())).isoformat()
        self.look().ask(f"UPDATE sim.server SET started = '{moment}', number = {self._starts}")
        self._gate.is_up = True

    def back_up(self) -> None:
        """A copy of the database as it is. Its connections are cut for that, which is a fault of its own."""
        assert self._gate is not None
        if not self._gate.is_up:
            return
        self._leave()
        self._ask(
            f"DROP DATABASE IF EXISTS {self._backup}",
            f"CREATE DATABASE {self._backup} TEMPLATE {self._name} STRATEGY = FILE_COPY",
        )
        self.backed_up_at = self._gate.loop.time()

    def bring_back(self) -> None:
        """The database is the one of the backup again. Whatever was committed since is lost."""
        assert self._gate is not None
        if self.backed_up_at is None:
            return
        self._leave()
        self._ask(
            f"DROP DATABASE {self._name}", f"CREATE DATABASE {self._name} TEMPLATE {self._backup} STRATEGY = FILE_COPY"
        )
        self.brought_back_at = self._gate.loop.time()

    def set_time(self, now: datetime) -> None:
        """For connections that are opened beside the gate, when the run is over."""
        self._ask(f"ALTER DATABASE {self._name} SET sim.now = '{now.isoformat()}'")

    def drop(self) -> None:
        if self._look is not None:
            self._look.close()
        self._ask(
            f"DROP DATABASE IF EXISTS {self._name} WITH (FORCE)", f"DROP DATABASE IF EXISTS {self._backup} WITH (FORCE)"
        )

    def _leave(self) -> None:
        """Nobody may be connected to a database that is copied or dropped."""
        assert self._gate is not None
        self._gate.cut_all()
        if self._look is not None:
            self._look.close_and_wait()
            self._look = None

    def _ask(self, *statements: str) -> None:
        connection = self._server.connect()
        for statement in statements:
            connection.ask(statement)
        connection.close()


@dataclass(frozen=True)
class PaymentRow:
    id: str
    merchant_id: str
    type: str
    channel: str
    status: str
    amount: int
    phone: str
    key: str
    floated: int  # what the ledger says moved at the network, in shillings
    processing_at: float | None  # seconds since the run began, by the clock of the worker that claimed it
    ended_at: float | None
    is_refund: bool
    receipt: str
    is_adopted: bool  # or matched with a line by operators: the line's receipt says what moved for it
    is_undone: bool  # adopted for the wrong merchant, and that was taken back
    is_borne: bool  # operators have decided against the network's last report: the difference is booked to losses


def find_payments(database: SimulatedDatabase) -> list[PaymentRow]:
    """All of them, oldest first."""
    found = database.look().ask(
        """
        SELECT t.id, t.merchant_id, type, t.channel, status, t.amount, t.phone, network_key, (
            SELECT coalesce(sum(CASE WHEN source = 'float' THEN amount ELSE -amount END), 0) FROM moves m
            WHERE m.cause_id = t.id AND m.merchant_id = t.merchant_id AND 'float' IN (source, target)
        ), EXISTS (
            SELECT FROM corrections c WHERE c.merchant_id = t.merchant_id AND c.transaction_id = t.id AND borne != 0
        ), date_part('epoch', processing_at), date_part('epoch', ended_at), refund_of IS NOT NULL,
        coalesce(l.receipt, provider_reference, ''), coalesce(a.line_id, l.id) IS NOT NULL, a.undone_at IS NOT NULL
        FROM transactions t LEFT JOIN adopted_payments a ON a.merchant_id = t.merchant_id AND a.transaction_id = t.id
        LEFT JOIN statement_matches s ON s.merchant_id = t.merchant_id AND s.transaction_id = t.id
          AND s.role = 'payment' AND s.how = 'operator'
        LEFT JOIN statement_lines l ON l.id = s.line_id
        ORDER BY t.id
        """
    )
    return [
        PaymentRow(
            id=str(id_),
            merchant_id=str(merchant_id),
            type=str(type_),
            channel=str(channel),
            status=str(status),
            amount=int(amount or 0),
            phone=str(phone),
            key=str(key),
            floated=int(floated or 0),
            is_borne=is_borne == "t",
            processing_at=_seconds(processing_at),
            ended_at=_seconds(ended_at),
            is_refund=is_refund == "t",
            receipt=str(receipt),
            is_adopted=is_adopted == "t",
            is_undone=is_undone == "t",
        )
        for (
            id_,
            merchant_id,
            type_,
            channel,
            status,
            amount,
            phone,
            key,
            floated,
            is_borne,
            processing_at,
            ended_at,
            is_refund,
            receipt,
            is_adopted,
            is_undone,
        ) in found
    ]


def _seconds(epoch: str | None) -> float | None:
    return None if epoch is None else float(epoch) - EPOCH.timestamp()
