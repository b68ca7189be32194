"""malipo demo: API, worker and simulated networks on one machine, with a merchant who has money."""

import argparse
import base64
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import msgspec
import uvloop

from malipo import clock, ids, log, money, randomness, tracing
from malipo.accounts.passwords import Passwords
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.cli import simulator_setup
from malipo.cli.bank.demo_accounts import add_demo_accounts
from malipo.cli.child_processes import Child, Children, Program
from malipo.cli.command_table import add_command
from malipo.cli.database_url import database_url
from malipo.cli.floats.demo_balances import book_opening_floats
from malipo.cli.serve import DEMO_MERCHANT, migrate_at, stop_seconds_of_worker
from malipo.db import Database, Tx
from malipo.http_server.serve import serve as serve_http
from malipo.http_server.sockets import CannotListen
from malipo.ledger.bookings import BookingKind, book
from malipo.merchants import issue_api_keys, manage_people, onboard
from malipo.merchants.api_keys import Environment, KeyTerms, Permission, hash_of
from malipo.merchants.roles import Role
from malipo.merchants.store import api_keys, merchants, people
from malipo.operators import login
from malipo.operators import store as operators
from malipo.operators.roles import Role as OperatorRole
from malipo.settings import Settings, demo_settings
from malipo.settings.environment import BadSettings, read, variable
from malipo.settings.parsers import is_on_this_machine

_MONEY = 5_000_000
_EMAIL = "demo@malipo.example"
_APPROVER = "approver@malipo.example"  # Nobody approves what they have made themselves.
_OPERATORS = ("asha", "juma")
_ACTOR = Actor("demo", "demo")


@dataclass(frozen=True)
class _Access:
    """How to get in. Kept in demo.json, because the database has only the hashes."""

    api_key: str
    email: str
    password: str
    approver_key: str
    approver_password: str
    operators: Mapping[str, str]  # their passwords


def add_commands(commands: Any) -> None:
    demo = add_command(commands, "demo")
    demo.set_defaults(command=_demo)
    demo.add_argument(
        "--operators",
        action="store_true",
        help=f"if there is no operator yet, make {' and '.join(_OPERATORS)}, who count as two at once, and print their "
        "passwords",
    )


def _demo(arguments: argparse.Namespace, settings: Settings) -> int:
    began = clock.monotonic()
    for name in ("port", "operator_port", "simulator_port"):
        if (port := getattr(settings, name)) is not None:
            _require_free(settings.host, port, variable(name))
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    log_file = settings.data_dir / "malipo.log"
    with log_file.open("a") as lines, database_url(settings, may_start=True) as url:
        log.configure(level=settings.log_level, stream=lines)
        print("malipo: PostgreSQL is up", file=sys.stderr)
        with tracing.running(is_on=settings.traces, process="api"):
            uvloop.run(_Demo(settings, url, lines, began, makes_operators=arguments.operators).run())
    print("malipo: stopped", file=sys.stderr)
    return 0


class _Demo:
    """PostgreSQL is there; then migrations, the simulated networks, the API and the worker, in this order."""

    def __init__(self, settings: Settings, url: str, lines: TextIO, began: float, *, makes_operators: bool) -> None:
        self._settings = settings
        self._url = url
        self._lines = lines
        self._began = began
        self._makes_operators = makes_operators
        self._phones_url = f"http://{settings.host}:{settings.simulator_port}"
        self._base_url = f"http://{settings.host}:{settings.port}"
        self._file = settings.data_dir / "demo.json"
        self._mail_port = _free_port(settings.host)

    async def run(self) -> None:
        await migrate_at(self._url)
        async with Children(self._lines) as children:
            simulator = await children.start(Program("malipo_simulator", self._simulator_arguments(), os.environ))
            variables = await self._variables(simulator)
            settings = read(variables)
            async with Database.opened(self._url, size=4) as database, database.begin() as tx:
                access = await _access(
                    tx, settings, _remembered(self._file), clock.now(), makes_operators=self._makes_operators
                )
                await book_opening_floats(tx, now=clock.now())
            await simulator_setup.register_callbacks(self._phones_url, self._base_url, settings)
            await children.start(
                Program("malipo", ["worker"], variables, stop_seconds=stop_seconds_of_worker(settings))
            )
            await serve_http(settings, self._url, on_ready=lambda: self._welcome(access))

    def _simulator_arguments(self) -> list[str]:
        state = self._settings.data_dir / "simulator"
        return [
            *("--host", self._settings.host),
            *("--port", str(self._settings.simulator_port)),
            *("--state", str(state)),
            *("--mail-port", str(self._mail_port)),
        ]

    async def _variables(self, simulator: Child) -> dict[str, str]:
        """The environment, completed with what makes a demo: the networks' credentials, and a secret of our own."""
        portal = await simulator_setup.credentials(self._phones_url, has_ended=lambda: simulator.times_ended > 0)
        simulated = simulator_setup.environment(self._phones_url, portal) | {
            variable("secret_key"): _kept_secret(self._settings.data_dir / "secret.key"),
            # Receipts prove themselves, which takes a folder for checkpoints.
            variable("receipt_log"): "off" if self._settings.state_dir == "none" else "public",
            variable("webhook_allow_private"): "true",
            variable("worker_stop_seconds"): "1",
            variable("operator_second_factor"): "optional",
            variable("simulated"): "true",
            variable("docs_try_it"): "true",
        }
        real = [name for name in simulated if name.endswith("_URL") and name in os.environ]
        if real:
            # The demo must not move real money.
            raise BadSettings(
                [f"{name} is set, and the demo is for simulated networks: use malipo serve." for name in real]
            )
        simulated = {name: value for name, value in simulated.items() if f"{name}_FILE" not in os.environ}
        simulated |= self._mail_variables()
        # A setting in the environment takes precedence.
        used = simulated | dict(os.environ)
        kept = demo_settings.encode({name: used[name] for name in simulated})
        _save(self._settings.data_dir / demo_settings.FILE, kept)
        return used

    def _mail_variables(self) -> dict[str, str]:
        """The mail server of the simulator, unless another is set. Its e-mails link to the pages, so it takes an
        address under which a browser finds them."""
        if not is_on_this_machine(self._base_url) or any(
            name.startswith((variable("smtp_url"), variable("mail_sender"))) for name in os.environ
        ):
            return {}
        return {
            variable("smtp_url"): f"smtp://{_bracketed(self._settings.host)}:{self._mail_port}",
            variable("mail_sender"): "malipo demo <no-reply@malipo.example>",
            variable("public_url"): self._base_url,
        }

    def _welcome(self, access: _Access) -> None:
        _write(
            self._file,
            {
                "baseUrl": self._base_url,
                "dashboardUrl": f"{self._base_url}/dashboard",
                "phonesUrl": self._phones_url,
                "apiKey": access.api_key,
                "email": access.email,
                "password": access.password,
                "approverKey": access.approver_key,
                "approverEmail": _APPROVER,
                "approverPassword": access.approver_password,
                **{_remembered_as(name): password for name, password in access.operators.items()},
            },
        )
        log_file = self._settings.data_dir / "malipo.log"
        seconds = clock.monotonic() - self._began
        print(_welcome(self._base_url, self._phones_url, access, log_file, seconds), flush=True)


def _require_free(host: str, port: int, name: str) -> None:
    """Before anything is started: a second demo must not use the first one's networks."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(f"Cannot listen on {host} port {port}: {reason}. Set {name} to another.") from None


def _free_port(host: str) -> int:
    with socket.create_server((host, 0), family=_family(host)) as server:
        return int(server.getsockname()[1])


def _family(host: str) -> socket.AddressFamily:
    return socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][0]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def _access(
    tx: Tx, settings: Settings, remembered: dict[str, str], now: datetime, *, makes_operators: bool
) -> _Access:
    """The credentials of an earlier start if they still work, else new ones. The first start creates the merchant
    too."""
    passwords = Passwords()
    known = await merchants.find_by_name(tx, DEMO_MERCHANT)
    merchant_id = known[0] if known else await onboard.create_merchant(tx, DEMO_MERCHANT, actor=_ACTOR, now=now)
    # The demo's money is not real: it is booked at once, without a second operator.
    if await book(tx, BookingKind.TOP_UP, merchant_id, _MONEY, reference="DEMO", now=now):
        await audit_log.append(
            tx, _ACTOR, "wallet.top_up", now=now, merchant_id=merchant_id, amount=_MONEY, reference="DEMO"
        )
    await add_demo_accounts(tx, merchant_id, now=now)
    # Nobody has invited either of the two, and both passwords are set here: so they are two people from the start.
    password = await _password(tx, passwords, merchant_id, _EMAIL, "Demo", remembered.get("password", ""), now)
    approver_password = await _password(
        tx, passwords, merchant_id, _APPROVER, "Approver", remembered.get("approverPassword", ""), now
    )
    key = _WantedKey("Demo", tuple(Permission), _ACTOR)
    approvers_key = _WantedKey(
        "Approver", (Permission.PAYOUTS_APPROVE, Permission.PAYMENTS_READ), Actor(_APPROVER, "demo")
    )
    return _Access(
        await _key(tx, settings, merchant_id, key, remembered.get("apiKey", ""), now),
        _EMAIL,
        password,
        await _key(tx, settings, merchant_id, approvers_key, remembered.get("approverKey", ""), now),
        approver_password,
        await _operators(tx, passwords, remembered, now, makes_them=makes_operators),
    )


class _WantedKey(NamedTuple):
    name: str
    permissions: Sequence[Permission]
    maker: Actor


async def _key(tx: Tx, settings: Settings, merchant_id: str, wanted: _WantedKey, remembered: str, now: datetime) -> str:
    found = await api_keys.find_by_hashes(tx, [(hash_of(remembered.encode()), None)])
    if any(each.key.merchant_id == merchant_id and each.key.is_good(now) for each in found.values()):
        return remembered
    key = await issue_api_keys.create_key(
        tx,
        merchant_id,
        KeyTerms(
            name=wanted.name,
            permissions=tuple(wanted.permissions),
            environment=Environment.LIVE,
            brand=settings.key_prefix,
        ),
        actor=wanted.maker,
        now=now,
    )
    return key.text


async def _password(
    tx: Tx, passwords: Passwords, merchant_id: str, email: str, name: str, remembered: str, now: datetime
) -> str:
    person = await people.find_by_email(tx, email)
    if person is None:
        person = await manage_people.add_person(
            tx, merchant_id, email=email, name=name, role=Role.OWNER, actor=_ACTOR, now=now
        )
    if remembered and await passwords.is_right(remembered, person.password_hash):
        return remembered
    password = _new_password()
    await people.set_password(tx, person.id, await passwords.hash(password))
    return password


async def _operators(
    tx: Tx, passwords: Passwords, remembered: dict[str, str], now: datetime, *, makes_them: bool
) -> dict[str, str]:
    """The passwords of an earlier start if they still work. Two operators of whom one has given the other a password
    are no two people for 72 hours: so the demo, in which no money is real, makes both."""
    made = {}
    if makes_them and not await operators.find_operators(tx):
        for name in _OPERATORS:
            await operators.insert_operator(tx, ids.mint("opr_", now), name, now=now)
            await audit_log.append(tx, _ACTOR, "operator.added", now=now, name=name, role=OperatorRole.MANAGER.value)
            made[name] = _new_password()
            await login.set_password(tx, name, await passwords.hash(made[name]), actor=_ACTOR, now=now)
        return made
    for name in _OPERATORS:
        password, operator = remembered.get(_remembered_as(name), ""), await operators.find_operator(tx, name)
        if password and operator and await passwords.is_right(password, operator.password_hash):
            made[name] = password
    return made


def _remembered_as(operator: str) -> str:
    return f"operatorPassword.{operator}"


def _new_password() -> str:
    """16 small letters and digits in fours: no shell takes a part of it for anything else, and it can be typed."""
    drawn = base64.b32encode(randomness.token_bytes(10)).decode().lower()
    return "-".join(drawn[place : place + 4] for place in range(0, len(drawn), 4))


def _remembered(path: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (OSError, ValueError, msgspec.MsgspecError):
        return {}


def _kept_secret(path: Path) -> str:
    """A secret of this data folder, made on the first start."""
    if not path.exists():
        _save(path, randomness.token_hex(32).encode())
    return path.read_text().strip()


def _write(path: Path, value: dict[str, str]) -> None:
    _save(path, msgspec.json.format(msgspec.json.encode(value)) + b"\n")


def _save(path: Path, content: bytes) -> None:
    """Written atomically, and readable only by its owner."""
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
    new.replace(path)


def _welcome(base_url: str, phones_url: str, access: _Access, log_file: Path, seconds: float) -> str:
    day = clock.day_of(clock.now())
    program = "malipo" if Path(sys.argv[0]).name == "malipo" else "./run"  # installed, or from the repository
    operators_log_in = (
        "log in as " + ", or as ".join(f"{name} with {password}" for name, password in access.operators.items())
        if access.operators
        else f"after {program} operators add NAME, and {program} operators password NAME"
    )
    return f"""
malipo is ready ({seconds:.1f} s).

  Dashboard  {base_url}/dashboard   log in as {access.email} with {access.password}
  Operators  {base_url}/operator   {operators_log_in}
  Phones     {phones_url}   answer the customer's phone here
  Mail       {phones_url}/mail   what people are told by e-mail
  API        {base_url}
  Docs       {base_url}/docs
  API key    {access.api_key}
  Approver   {access.approver_key}   approves batches; in the dashboard: {_APPROVER} with {access.approver_password}
  Wallet     {money.display(_MONEY)} on the first start

Take a first payment:

  curl -s {base_url}/v1/payments \\
    -H 'x-api-key: {access.api_key}' \\
    -H 'Idempotency-Key: order-1-1' \\
    -H 'content-type: application/json' \\
    -d '{{"amount": 1000, "channel": "MPESA", "buyerPhone": "+255754000100", "buyerName": "Asha"}}'

Then answer the customer's phone, and see what became of it:

  {phones_url}/phones/+255754000100

  curl -s '{base_url}/v1/payments?limit=1' -H 'x-api-key: {access.api_key}'

Be told instead of asking: every event, posted to a program of yours, and one that happens by itself

  {program} listen --forward-to http://127.0.0.1:3000/
  {program} trigger payment.completed

Hold it against the network's own statement. An operator does, once there is one (see above):

  {program} operators login
  curl -so MPESA.csv '{phones_url}/api/statements/MPESA?day={day}'
  {program} statements import MPESA.csv --channel MPESA
  {program} exceptions list
  {program} floats

Ask for a difference, and it is found: add &with=theirsOnly,twice. When the day is over, import its statements and close
it:

  {program} close {day}

In this demo operators need no second factor (MALIPO_OPERATOR_SECOND_FACTOR=optional); everywhere else they do.

Log: {log_file}. Ctrl-C stops everything.
"""
