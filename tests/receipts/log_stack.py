"""A receipt log on a database of its own, without a worker: each step of it by hand."""

import importlib.util
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from malipo import clock, ids
from malipo.db import Database
from malipo.encryption import Encryption
from malipo.receipts import public_files
from malipo.receipts.append import append_facts, append_new
from malipo.receipts.fact import Fact, Kind
from malipo.receipts.find_receipt import find_receipt
from malipo.receipts.receipt_json import receipt_view
from malipo.receipts.sign_checkpoints import CheckpointSigner
from malipo.receipts.signing_decision import SigningRefusal
from malipo.receipts.store import facts, logs
from malipo.receipts.store.logs import Log, Published
from malipo.restore.store import installation
from malipo.webhooks.fan_out import fan_out
from tests.conftest import SECRET_KEY
from tests.payments.payment_steps import PaymentSteps

NAME = "pay.example.com/log"
VERIFIER = Path(__file__).parents[2] / "clients" / "verify_receipt.py"


class Died(BaseException):
    """The process has ended at this point."""


@dataclass
class LogStack:
    steps: PaymentSteps
    folder: Path
    encryption: Encryption = field(default_factory=lambda: Encryption(SECRET_KEY))

    @property
    def database(self) -> Database:
        return self.steps.database

    async def number(self, *, is_on: bool = True, most: int = 1000) -> int:
        """All events get their numbers, and go into the log, if it is on; how many got one."""
        numbered = await self._number(most)
        if is_on:
            await self.append()
        return numbered

    async def _number(self, most: int) -> int:
        numbered = 0
        while True:
            async with self.database.begin() as tx:
                done = await fan_out(
                    tx,
                    most=most,
                    claim_id=ids.mint("clm_", clock.now()),
                    lease_seconds=1,
                    may_claim=lambda _: False,
                    now=clock.now(),
                )
            numbered += done.event_count
            if not done.event_count:
                return numbered

    async def fill(self, count: int) -> None:
        """Leaves of payments that there are not, which is quicker."""
        now = clock.iso(clock.now())
        recorded = [
            Fact(
                fact=Kind.COMPLETED,
                version=1,
                amount=1000,
                at=now,
                channel="MPESA",
                currency="TZS",
                merchant=self.steps.merchant_id,
                merchant_name="Duka",
                payment=ids.random("txn_"),
                phone="+2557*****100",
                reference="MLP-1",
                type="COLLECTION",
            )
            for _ in range(count)
        ]
        async with self.database.begin() as tx:
            await append_facts(tx, recorded, log_number=await facts.find_current_log(tx), log_name=NAME)

    async def append(self, *, most_of_merchant: int = 500, most: int = 2000) -> None:
        is_more = True
        while is_more:
            is_more = await append_new(self.database, log_name=NAME, most_of_merchant=most_of_merchant, most=most)

    def signer(self, folder: str = "state", *, seconds: float = 0, die_at: str | None = None) -> CheckpointSigner:
        def mark(point: str) -> None:
            if point == die_at:
                raise Died

        return CheckpointSigner(
            self.database,
            self.folder / folder,
            self.encryption,
            worker_id=lambda: f"wrk_{folder}",
            log_name=NAME,
            seconds=seconds,
            mark=mark,
        )

    async def sign(self, signer: CheckpointSigner | None = None) -> Published | None:
        """Until there is nothing more to do; the last checkpoint."""
        signer = signer or self.signer()
        while await signer.turn():
            pass
        return await self.published()

    async def published(self) -> Published | None:
        async with self.database.read() as connection:
            return await logs.find_published(connection)

    async def log(self) -> Log:
        async with self.database.read() as connection:
            found = await logs.find_latest(connection)
        assert found is not None
        return found

    async def refused(self) -> SigningRefusal | None:
        """Why the host that has looked last signs nothing."""
        async with self.database.read() as connection:
            found = (await logs.find_signers(connection))[0].refused
        return None if found is None else SigningRefusal(found)

    async def rows(self, sql: str, *values: object) -> list[Any]:
        async with self.database.read() as connection:
            return list(await connection.fetch(sql, *values))

    async def execute(self, sql: str, *values: object) -> None:
        async with self.database.begin() as tx:
            await tx.execute(sql, *values)

    async def receipt(self, payment_id: str) -> dict[str, Any]:
        async with self.database.snapshot() as connection:
            found = await find_receipt(connection, self.steps.merchant_id, payment_id)
        shown: dict[str, Any] = read_back(receipt_view(found, url="https://pay.example.com/receipt/x"))
        return shown

    async def keys(self) -> dict[str, Any]:
        async with self.database.read() as connection:
            return await public_files.find_keys(connection)

    async def fence(self) -> None:
        """As after a restore: a new epoch."""
        async with self.database.begin() as tx:
            await installation.begin_epoch(tx, "restored")

    async def release(self) -> None:
        async with self.database.begin() as tx:
            await installation.end_fence(tx)


def read_back(value: Any) -> Any:
    """As a client reads it."""
    return json.loads(json.dumps(value, default=str))


def verifier() -> Any:
    """The client's file as a module."""
    name = "verify_receipt"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, VERIFIER)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
