"""The database that every run begins with: migrated, with two merchants, and with a clock that the simulation sets.

`now()` and its like are shadowed by functions of the schema `sim`, which is first in the search path. So no
statement of malipo has to know of the simulation.
"""

import asyncio
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import msgspec

from malipo import clock, log, randomness
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.encryption import Encryption
from malipo.ledger.bookings import BookingKind, book
from malipo.merchants import issue_api_keys, onboard
from malipo.merchants.api_keys import Environment, KeyTerms, Permission
from malipo.networks.connector import Channel, Type
from malipo.outbox.event import Event
from malipo.payments.fees import Band
from malipo.payments.store import tariffs
from malipo.webhooks import manage_endpoints
from simulation.blocking_connection import BlockingConnection
from simulation.postgres_gate import EPOCH
from simulation.settlements.accounts import open_accounts

SECRET_KEY = "the-key-of-every-simulated-installation"  # noqa: S105
TEMPLATE = "sim_template"
USER = "malipo"
WALLET = 2_000_000
FEE = 100
RECEIVER_PORT = 9000

# The order of a set of texts depends on it, so it is the same for every run.
HASH_SEED = "0"

_NOBODY = Actor("simulation", "simulation")
_APPROVER = Actor("approver@duka.example", "simulation")
_DAY_BEFORE = EPOCH - timedelta(days=1)
_LONG_AGO = EPOCH - timedelta(days=30)

_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "deadlock_timeout": "1ms",
    "checkpoint_timeout": "1h",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",  # Each connection plans a statement once, and not five times first.
    "track_activities": "off",
    "track_counts": "off",
    "update_process_title": "off",
    "max_parallel_workers_per_gather": "0",
    "idle_in_transaction_session_timeout": "0",
}
_SHADOWS = f"""
    CREATE SCHEMA sim;
    CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE sql STABLE AS
        $$ SELECT coalesce(current_setting('sim.now', true), '{_DAY_BEFORE.isoformat()}')::timestamptz $$;
    CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT sim.now() $$;
    CREATE TABLE sim.server (started timestamptz NOT NULL, number integer NOT NULL);
    INSERT INTO sim.server VALUES ('{_DAY_BEFORE.isoformat()}', 1);
    CREATE FUNCTION sim.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql STABLE AS
        $$ SELECT started FROM sim.server $$;
    CREATE VIEW sim.pg_database AS SELECT number::oid AS oid, current_database() AS datname FROM sim.server;
"""


class SimulatedMerchant(msgspec.Struct, frozen=True):
    id: str
    key: str
    endpoint_id: str
    secret: str
    approver_key: str = ""  # of somebody else, who may approve


@dataclass(frozen=True)
class Server:
    """A PostgreSQL for simulations, as its URL says it."""

    url: str

    @property
    def socket_path(self) -> str:
        options = parse_qs(urlsplit(self.url).query)
        return f"{options['host'][0]}/.s.PGSQL.{options['port'][0]}"

    def url_of(self, database: str) -> str:
        return urlsplit(self.url)._replace(path=f"/{database}").geturl()

    def connect(self, database: str = "postgres") -> BlockingConnection:
        return BlockingConnection(self.socket_path, user=USER, database=database)


def prepare(servers: list[Server]) -> list[SimulatedMerchant]:
    """Make the template anew on every server, all the same; its merchants.

    Each in a process of its own: it puts another clock and other random numbers in place, and both begin there.
    """
    command = [sys.executable, "-m", "simulation.template"]
    environment = os.environ | {"PYTHONHASHSEED": HASH_SEED}
    made = [subprocess.Popen([*command, each.url], env=environment, stdout=subprocess.PIPE) for each in servers]
    said = {each.communicate()[0] for each in made}
    if any(each.returncode for each in made) or len(said) != 1:
        raise RuntimeError("the template could not be made, or is not the same on every server")
    return msgspec.json.decode(said.pop(), type=list[SimulatedMerchant])


def _prepare(server: Server) -> list[SimulatedMerchant]:
    with_server = server.connect()
    for name, value in _SETTINGS.items():
        with_server.ask(f"ALTER SYSTEM SET {name} = '{value}'")
    with_server.ask("SELECT pg_reload_conf()")
    with_server.ask(f"ALTER ROLE {USER} SET search_path = sim, pg_catalog, public")
    with_server.ask(f"DROP DATABASE IF EXISTS {TEMPLATE} WITH (FORCE)")
    with_server.ask(f"CREATE DATABASE {TEMPLATE}")
    with_server.close()
    shadows = server.connect(TEMPLATE)
    shadows.ask(_SHADOWS)
    shadows.close()
    moment = int(_DAY_BEFORE.timestamp() * 1_000_000_000)
    clock.read_from(nanoseconds=lambda: moment, monotonic=lambda: 0.0)
    randomness.draw_from(random.Random("template"))
    return asyncio.run(_fill(server.url_of(TEMPLATE)))


async def _fill(url: str) -> list[SimulatedMerchant]:
    async with Database.opened(url, size=1) as database:
        await migrate(database)
        merchants = [await _add_merchant(database, number) for number in (1, 2)]
        async with database.read() as connection:
            # What the migration draws by itself, fixed.
            await connection.execute("UPDATE installation SET id = 'ins_simulation', key_secret = sha256('simulation')")
        await open_accounts(database, [each.id for each in merchants], now=_LONG_AGO)
        async with database.read() as connection:
            await connection.execute("VACUUM (FREEZE, ANALYZE)")
        return merchants


async def _add_merchant(database: Database, number: int) -> SimulatedMerchant:
    now = _DAY_BEFORE
    async with database.begin() as tx:
        merchant_id = await onboard.create_merchant(tx, f"Duka {number}", actor=_NOBODY, now=now)
        await book(tx, BookingKind.TOP_UP, merchant_id, WALLET, reference=f"first {number}", now=now)
        for type_ in Type:
            for channel in Channel:
                await tariffs.replace(tx, merchant_id, type_, channel, [Band(500, fixed_fee=FEE)])
        key = await issue_api_keys.create_key(
            tx,
            merchant_id,
            KeyTerms(name="simulation", permissions=tuple(Permission), environment=Environment.LIVE, brand="mlp"),
            actor=_NOBODY,
            now=now,
        )
        approver = await issue_api_keys.create_key(
            tx,
            merchant_id,
            KeyTerms(
                name="approver", permissions=(Permission.PAYOUTS_APPROVE,), environment=Environment.LIVE, brand="mlp"
            ),
            actor=_APPROVER,
            now=now,
        )
        endpoint, secret = await manage_endpoints.register(
            tx,
            merchant_id,
            url=f"http://127.0.0.1:{RECEIVER_PORT}/{number}",
            events=tuple(Event),
            encryption=Encryption(SECRET_KEY),
            actor=_NOBODY,
            now=now,
        )
    return SimulatedMerchant(merchant_id, key.text, endpoint.id, secret, approver.text)


if __name__ == "__main__":
    log.configure(level="warning", stream=sys.stderr)
    sys.stdout.buffer.write(msgspec.json.encode(_prepare(Server(sys.argv[1]))))
