"""Every row of the simulator's table of digits, on every network, through everything that malipo has.

Two towns live at once: one with callbacks and one without, because questions alone must bring every payment to the same
end. All payments are made by one fixture, each with a phone and an amount of its own; a test then looks at what became of
one of them.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from malipo.networks.contract import Channel
from malipo.payments.fees import Band
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type
from tests.conftest import create_database
from tests.journeys import witness
from tests.journeys.town import Town, a_worker, founded, until

pytestmark = pytest.mark.timeout(300)  # Everything happens in the setup of the first test.
WALLET = 1_000_000
BILLER = "DEMO"  # what begins every reference at the simulated Tigo Pesa
FEE = 30
NOT_FOUND_SECONDS = 2
# What has failed and may yet be paid is asked about again once, when the row that takes its word back has done so.
FOLLOW_UP_SECONDS = 6
UNSETTLED_SECONDS = 6
# Three questions at once, and then one a second: three times "not found" is heard long before it may count.
POLL_SECONDS = "0,0,0,1,0,0,1,0,0,1"

# What each row must come to: the status, and for FAILED our word for why; `open` is PROCESSING for good, and shown to
# the operator. Where networks differ, the cell of one stands for itself: what M-Pesa's query calls Failed has no reason,
# and only its callback (or the reply, of a synchronous application) knows one. Tigo Pesa has no query for payouts, HaloPesa
# none for collections; HaloPesa's payouts go through ClickPesa, whose "not found" is no word of a payment. Nor is Tigo
# Pesa's, until an operator with a contract says which of its codes means that.
TABLE = """
    digits  type          M-Pesa async                M-Pesa sync                 Airtel Money                Tigo Pesa                   HaloPesa
    other   COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    100     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    101     COLLECTION    FAILED:declined             FAILED:declined             FAILED:declined             FAILED:declined             FAILED:declined
    102     COLLECTION    FAILED:insufficient_funds   FAILED:insufficient_funds   FAILED:insufficient_funds   FAILED:insufficient_funds   FAILED:insufficient_funds
    103     COLLECTION    FAILED:expired              FAILED:expired              FAILED:expired              FAILED:expired              FAILED:expired
    104     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    105     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   open
    106     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    107     COLLECTION    COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    108     COLLECTION    FAILED:not_received         FAILED:not_received         FAILED:not_received         open                        open
    109     COLLECTION    open                        open                        open                        open                        open
    110     COLLECTION    FAILED:declined             FAILED:declined             FAILED:rejected             FAILED:rejected             FAILED:rejected
    other   DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    100     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    101     DISBURSEMENT  FAILED:invalid_recipient    FAILED:invalid_recipient    FAILED:invalid_recipient    FAILED:invalid_recipient    FAILED:invalid_recipient
    102     DISBURSEMENT  FAILED:channel_unavailable  FAILED:channel_unavailable  FAILED:channel_unavailable  FAILED:channel_unavailable  FAILED:channel_unavailable
    103     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    104     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   open:unheard                COMPLETED
    105     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   open:unheard                COMPLETED
    106     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED                   COMPLETED
    107     DISBURSEMENT  COMPLETED                   COMPLETED                   COMPLETED                   open:unheard                COMPLETED
    108     DISBURSEMENT  open:not_found              open:not_found              open:not_found              open:unheard                open
    109     DISBURSEMENT  open                        open                        open                        open                        open
    110     DISBURSEMENT  FAILED:rejected             FAILED:rejected             FAILED:rejected             FAILED:invalid_recipient    FAILED:rejected
"""
# Without callbacks nobody tells why M-Pesa's query says Failed, and Tigo Pesa's Declined.
UNTOLD = {
    ("M-Pesa async", "COLLECTION", "102"): "FAILED:rejected",
    ("M-Pesa async", "COLLECTION", "110"): "FAILED:rejected",
    ("Tigo Pesa", "COLLECTION", "101"): "FAILED:rejected",
    ("Tigo Pesa", "COLLECTION", "102"): "FAILED:rejected",
    ("Tigo Pesa", "COLLECTION", "103"): "FAILED:rejected",
}
# What moved, and what nobody but the network's statement will tell.
UNHEARD = {
    ("Tigo Pesa", "DISBURSEMENT", "104"),
    ("Tigo Pesa", "DISBURSEMENT", "105"),
    ("Tigo Pesa", "DISBURSEMENT", "107"),
    ("HaloPesa", "COLLECTION", "105"),
}
NETWORKS = ("M-Pesa async", "M-Pesa sync", "Airtel Money", "Tigo Pesa", "HaloPesa")
CHANNELS = {
    "M-Pesa async": "MPESA",
    "M-Pesa sync": "MPESA",
    "Airtel Money": "AIRTEL_MONEY",
    "Tigo Pesa": "TIGO_PESA",
    "HaloPesa": "HALOPESA",
}
PREFIXES = {
    "M-Pesa async": "+255754",
    "M-Pesa sync": "+255765",
    "Airtel Money": "+255684",
    "Tigo Pesa": "+255714",
    "HaloPesa": "+255624",
}


class Cell(NamedTuple):
    network: str
    type: str
    digits: str
    is_told: bool

    @property
    def id(self) -> str:
        return f"{self.network}-{self.type.lower()}-{self.digits}-{'told' if self.is_told else 'only asked'}"

    @property
    def phone(self) -> str:
        last = "001" if self.digits == "other" else self.digits
        return f"{PREFIXES[self.network]}{'000' if self.type == 'COLLECTION' else '111'}{last}"

    @property
    def is_contradicted(self) -> bool:
        """Told FAILED, and then SUCCESS: by a callback, or by the question that follows every payout that failed."""
        if self.type == "DISBURSEMENT":
            return self.digits == "110" and self.network != "Tigo Pesa"
        return self.digits == "110" and self.is_told

    @property
    def is_unheard(self) -> bool:
        """The network has it in its book, and we have not."""
        late = self.digits == "110" and not self.is_contradicted
        return late or (self.network, self.type, self.digits) in UNHEARD

    @property
    def is_resent(self) -> bool:
        refuses_twice = self.network not in ("Tigo Pesa", "HaloPesa")
        return refuses_twice and (self.type, self.digits) == ("DISBURSEMENT", "108")


def _expected() -> dict[Cell, str]:
    _, *rows = (line.split() for line in TABLE.strip().splitlines())
    return {
        Cell(network, type_, digits, is_told): cell if is_told else UNTOLD.get((network, type_, digits), cell)
        for digits, type_, *cells in rows
        for network, cell in zip(NETWORKS, cells, strict=True)
        for is_told in (True, False)
        # What cannot be asked about, and is not told, is only open.
        if is_told or (network, type_) != ("HaloPesa", "COLLECTION")
    }


EXPECTED = _expected()
CELLS = [pytest.param(cell, id=cell.id) for cell in EXPECTED]
AMOUNTS = {cell: 1000 + number for number, cell in enumerate(EXPECTED)}


@dataclass(frozen=True)
class End:
    """What became of one payment: as the merchant, the database and the network have it."""

    shown: dict[str, Any]
    key: str
    moves: list[tuple[str, str, str, int]]  # step, from, to, amount
    hearings: list[tuple[str, str]]  # by which act, and the verdict
    dispatch: dict[str, Any] | None
    why_unsettled: str | None
    movements: list[dict[str, Any]]
    network_says: dict[str, Any] | None
    requests: list[str]  # the bodies of the payment requests that reached the network


@dataclass(frozen=True)
class Place:
    """A town after everything has happened."""

    ends: dict[Cell, End]
    wallet: tuple[int, int]
    dispatches: int
    book: dict[str, Any]
    tellings: list[dict[str, Any]]
    other_phones: set[str]


World = dict[bool, Place]  # by whether the networks told, or were only asked


@pytest.fixture(scope="module")
def world(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    async def live() -> World:
        urls = [await create_database(postgres, template) for _ in range(2)]
        told, asked = await asyncio.gather(
            *(
                _live(tmp_path_factory.mktemp("town"), url, [cell for cell in EXPECTED if cell.is_told is is_told])
                for url, is_told in zip(urls, (True, False), strict=True)
            )
        )
        return {True: told, False: asked}

    return asyncio.run(live())


async def _live(folder: Path, database_url: str, cells: list[Cell]) -> Place:
    hurry = {
        "poll_seconds": POLL_SECONDS,
        "not_found_seconds": NOT_FOUND_SECONDS,
        "not_indexed_seconds": NOT_FOUND_SECONDS,
        "not_indexed_answers": 3,
        "follow_up_seconds": FOLLOW_UP_SECONDS,
        "tigo_pesa_not_found_codes": "",
        "unsettled_seconds": UNSETTLED_SECONDS,
    }
    async with founded(folder, database_url, speed=1, wallet=WALLET, **hurry) as town:
        await _set_up(town, is_told=cells[0].is_told)
        async with a_worker(town):
            # At the pace of the world: between a failure and the success that follows there must be time to ask, and a
            # person needs time to take the phone. All the others ten times as fast.
            first = [cell for cell in cells if cell.digits == "110" or _is_for_a_person(cell)]
            ids = await _take(town, first)
            await _until_ended(town, ids, seconds=15)
            await town.sim.control(speed=10)
            ids |= await _take(town, [cell for cell in cells if cell not in first])
            await _until_ended(town, ids, seconds=45)
            unsettled = await town.unsettled()
        return await _look(town, ids, unsettled)


async def _set_up(town: Town, *, is_told: bool) -> None:
    async with town.database.begin() as tx:
        for type_ in Type:
            for channel in Channel:
                await tariffs.replace(tx, town.merchant.id, type_, channel, [Band(500, fixed=FEE)])
    if not is_told:
        await town.sim("PUT", "/api/callbacks", dict.fromkeys(await town.sim("GET", "/api/callbacks")))


async def _take(town: Town, cells: list[Cell]) -> dict[Cell, str]:
    """All at once; but M-Pesa is one kind of application at a time, from when a request reaches it."""
    ids: dict[Cell, str] = {}
    for mode in ("sync", "async"):
        await town.sim.control(channels={"MPESA": {"mode": mode}})
        now = [cell for cell in cells if ("sync" if cell.network == "M-Pesa sync" else "async") == mode]
        calls = (town.take(CHANNELS[cell.network], cell.type, cell.phone, AMOUNTS[cell]) for cell in now)
        ids |= dict(zip(now, await asyncio.gather(*calls), strict=True))
        await until(lambda: _has_reached_all(town), what="the network's hearing of all of them")
        await asyncio.gather(*(_approve(town, cell.phone) for cell in now if _is_for_a_person(cell)))
    return ids


async def _has_reached_all(town: Town) -> bool:
    async with town.database.read() as connection:
        keys = [row["network_key"] for row in await connection.fetch("SELECT network_key FROM transactions")]
    bodies = "".join(entry["body"] for entry in await town.sim("GET", "/api/seen?limit=2000"))
    return all(key in bodies for key in keys)


def _is_for_a_person(cell: Cell) -> bool:
    return (cell.type, cell.digits) == ("COLLECTION", "100")


async def _approve(town: Town, phone: str) -> None:
    async def waiting() -> list[dict[str, Any]]:
        prompts = await town.sim("GET", f"/api/prompts?phone=%2B{phone[1:]}")
        return [prompt for prompt in prompts if prompt["state"] == "waiting"]

    [prompt] = await until(waiting, what="the prompt")
    await town.sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve", "pin": "1234"})


async def _until_ended(town: Town, ids: dict[Cell, str], *, seconds: float) -> None:
    """Return when all stand as they should, or will not: which of them do not, the tests say one by one."""

    async def have() -> bool:
        async with town.database.read() as connection:
            rows = await connection.fetch(
                f"""
                SELECT t.id, t.status, d.attention, d.transaction_id IS NULL AS is_done, now() - t.processing_at > interval '{UNSETTLED_SECONDS + 1} seconds' AS is_old,
                       EXISTS (SELECT FROM moves WHERE cause_id = t.id AND step = 'contradiction') AS is_contradicted
                FROM transactions t LEFT JOIN dispatches d ON d.transaction_id = t.id
                """
            )
        there = {row["id"]: row for row in rows}
        return all(
            _stands(cell, there[id_], is_alone=all(cell.digits in ("100", "110") for cell in ids))
            for cell, id_ in ids.items()
        )

    try:
        await until(have, seconds=seconds)
    except AssertionError:
        print("not everything ended in time")


def _stands(cell: Cell, row: Any, *, is_alone: bool) -> bool:
    status, _, why = EXPECTED[cell].partition(":")
    if status == "open":
        return bool(row["attention"] == why if why else row["is_old"])
    if is_alone:
        return bool(row["status"] == status)
    return bool(row["status"] == status and row["is_done"] and row["is_contradicted"] == cell.is_contradicted)


async def _look(town: Town, ids: dict[Cell, str], unsettled: dict[str, str]) -> Place:
    book = await town.sim("GET", "/api/book")
    seen = await town.sim("GET", "/api/seen?limit=2000")
    ends = {cell: await _end(town, cell, id_, book, seen, unsettled) for cell, id_ in ids.items()}
    await witness.assert_clean(town.database)
    return Place(
        ends=ends,
        wallet=await witness.wallet(town.database, town.merchant.id),
        dispatches=await witness.count(town.database, "dispatches"),
        book=book,
        tellings=[entry for entry in seen if entry["direction"] == "out"],
        other_phones={each["phone"] for each in book["movements"]} - {cell.phone for cell in ids},
    )


async def _end(
    town: Town, cell: Cell, id_: str, book: dict[str, Any], seen: list[dict[str, Any]], unsettled: dict[str, str]
) -> End:
    async with town.database.read() as connection:
        key = await connection.fetchval("SELECT network_key FROM transactions WHERE id = $1", id_)
        moves = await connection.fetch(
            """
            SELECT step, source, target, amount FROM moves WHERE cause_id = $1
            ORDER BY step NOT IN ('open', 'end'), ordinal, step DESC, line
            """,
            id_,
        )
        hearings = await connection.fetch(
            "SELECT act, verdict FROM hearings WHERE transaction_id = $1 ORDER BY id", id_
        )
        dispatch = await connection.fetchrow("SELECT * FROM dispatches WHERE transaction_id = $1", id_)
    key = BILLER + key if cell.network == "Tigo Pesa" else key
    known = await town.sim("GET", f"/api/transactions/{CHANNELS[cell.network]}/{key}", status=None)
    return End(
        shown=await town.shown(id_),
        key=key,
        moves=[tuple(row.values()) for row in moves],
        hearings=[tuple(row.values()) for row in hearings],
        dispatch=None if dispatch is None else dict(dispatch),
        why_unsettled=unsettled.get(id_),
        movements=[each for each in book["movements"] if each["phone"] == cell.phone],
        network_says=known if "state" in known else None,
        requests=[
            entry["body"]
            for entry in seen
            if entry["method"] == "POST"
            and key in entry["body"]
            and entry["direction"] == "in"
            # Tigo Pesa is asked by POST too.
            and not entry["path"].endswith("/TQS")
        ],
    )


@pytest.mark.parametrize("cell", CELLS)
def test_a_payment_comes_to_the_end_that_its_row_says(world: World, cell: Cell) -> None:
    end = world[cell.is_told].ends[cell]
    status = EXPECTED[cell].partition(":")[0]

    assert end.shown["status"] == ("PROCESSING" if status == "open" else status)
    assert end.shown.get("failureCode") in (_reasons(cell) if status == "FAILED" else {None})
    assert ("failureReason" in end.shown) == (status == "FAILED")
    assert ("completedAt" in end.shown) == (status == "COMPLETED")
    assert (end.dispatch is None) == (status != "open"), "what has ended is not worked on any more"
    is_credited = cell.type == "COLLECTION"  # by itself: nobody has to look at it
    assert (end.why_unsettled is not None) == (status == "open" or (cell.is_contradicted and not is_credited))

    _assert_statuses_in_order(end.shown)


def _reasons(cell: Cell) -> set[str]:
    """Our words for why it failed. Also where the network tells, a question may be quicker than its callback."""
    ends = [EXPECTED[cell], UNTOLD.get((cell.network, cell.type, cell.digits), EXPECTED[cell])]
    return {end.partition(":")[2] for end in ends}


def _assert_statuses_in_order(shown: dict[str, Any]) -> None:
    log = [(each["status"], datetime.fromisoformat(each["timestamp"])) for each in shown["statusLogs"]]
    ended = [] if shown["status"] == "PROCESSING" else [shown["status"]]
    assert [status for status, _ in log] == ["PENDING", "PROCESSING", *ended]
    assert sorted(moment for _, moment in log) == [moment for _, moment in log]
    if "completedAt" in shown:
        assert datetime.fromisoformat(shown["completedAt"]) == log[-1][1]


@pytest.mark.parametrize("cell", CELLS)
def test_a_payment_moves_what_its_end_calls_for_and_nothing_else(world: World, cell: Cell) -> None:
    amount, status = AMOUNTS[cell], EXPECTED[cell].partition(":")[0]

    assert world[cell.is_told].ends[cell].moves == [*_moves(cell.type, status, amount), *_contradiction(cell, amount)]


def _moves(type_: str, status: str, amount: int) -> list[tuple[str, str, str, int]]:
    match type_, status:
        case "COLLECTION", "COMPLETED":
            return [("end", "float", "wallet", amount - FEE), ("end", "float", "fees", FEE)]
        case "COLLECTION", _:
            return []
    opened = ("open", "wallet", "in_flight", amount + FEE)
    match status:
        case "COMPLETED":
            return [opened, ("end", "in_flight", "float", amount), ("end", "in_flight", "fees", FEE)]
        case "FAILED":
            return [opened, ("end", "in_flight", "wallet", amount + FEE)]
    return [opened]


def _contradiction(cell: Cell, amount: int) -> list[tuple[str, str, str, int]]:
    if not cell.is_contradicted:
        return []
    if cell.type == "DISBURSEMENT":
        return [("contradiction", "suspense", "float", amount)]
    return [
        ("contradiction", "float", "suspense", amount),
        ("resolution", "suspense", "wallet", amount - FEE),
        ("resolution", "suspense", "fees", FEE),
    ]


@pytest.mark.parametrize("cell", CELLS)
def test_the_network_moved_money_once_or_not_at_all(world: World, cell: Cell) -> None:
    end = world[cell.is_told].ends[cell]
    has_moved = EXPECTED[cell] == "COMPLETED" or cell.is_contradicted or cell.is_unheard

    kind = "charged" if cell.type == "COLLECTION" else "paid"
    moved = [(each["kind"], each["amount"], each["reference"]) for each in end.movements]
    assert moved == ([(kind, AMOUNTS[cell], end.key)] if has_moved else [])
    if EXPECTED[cell] == "COMPLETED":
        assert end.network_says is not None
        assert end.shown["providerReference"] in (end.network_says["receipt"], end.network_says["networkId"])


@pytest.mark.parametrize("cell", CELLS)
def test_a_payment_is_sent_once_unless_the_network_says_again_and_again_that_it_has_nothing(
    world: World, cell: Cell
) -> None:
    end = world[cell.is_told].ends[cell]

    assert len(end.requests) == (3 if cell.is_resent else 1)
    assert len(set(end.requests)) == 1, "the same bytes"
    # A reply that is held for good has not been heard.
    is_held = (cell.network, cell.digits) in (("M-Pesa sync", "109"), ("Tigo Pesa", "109"))
    assert [act for act, _ in end.hearings].count("send") <= len(end.requests)
    assert [act for act, _ in end.hearings].count("send") >= len(end.requests) - is_held
    if cell.is_resent:
        assert end.dispatch is not None
        assert (end.dispatch["sends"], end.dispatch["next_act"]) == (3, "ask")
        assert _not_founds(end) >= 9, "three times after each sending"


def _not_founds(end: End) -> int:
    """M-Pesa says "unknown", which counts like that only in the end."""
    return end.hearings.count(("ask", "missing")) + end.hearings.count(("ask", "not_indexed"))


@pytest.mark.parametrize(
    "cell",
    [cell for cell in EXPECTED if cell.digits == "108" and (cell.is_resent or "not_received" in EXPECTED[cell])],
    ids=lambda cell: cell.id,
)
def test_not_found_counts_only_after_some_time_and_several_answers(world: World, cell: Cell) -> None:
    end = world[cell.is_told].ends[cell]

    assert _not_founds(end) >= 3
    if cell.type == "COLLECTION":
        _, sent, ended = (datetime.fromisoformat(each["timestamp"]) for each in end.shown["statusLogs"])
        assert (ended - sent).total_seconds() >= NOT_FOUND_SECONDS


@pytest.mark.parametrize("cell", [cell for cell in EXPECTED if cell.is_contradicted], ids=lambda cell: cell.id)
def test_a_network_that_takes_back_its_word_is_put_right_and_told(world: World, cell: Cell) -> None:
    end = world[cell.is_told].ends[cell]
    told = end.shown["correction"]

    if cell.type == "COLLECTION":
        assert (told["outcome"], told["amount"], told["reason"]) == ("COMPLETED", AMOUNTS[cell] - FEE, "credited")
    else:
        assert (told["outcome"], told["amount"], told["reason"]) == ("COMPLETED", AMOUNTS[cell] + FEE, "debt_recorded")
        assert end.why_unsettled is not None


TOLD = pytest.mark.parametrize("is_told", [True, False], ids=["told", "only asked"])


@TOLD
def test_the_books_of_a_town_and_its_networks_agree_to_the_shilling(world: World, is_told: bool) -> None:
    town = world[is_told]
    amounts: Counter[tuple[str, str]] = Counter()
    for cell, end in town.ends.items():
        amounts[cell.type, end.shown["status"]] += AMOUNTS[cell]
        amounts["suspense", cell.type] += sum(amount for step, *_, amount in end.moves if step == "contradiction")
        if cell.is_unheard:
            amounts["unheard", cell.type] += AMOUNTS[cell]
    fees = Counter((cell.type, end.shown["status"]) for cell, end in town.ends.items())

    charged = amounts["COLLECTION", "COMPLETED"] + amounts["suspense", "COLLECTION"] + amounts["unheard", "COLLECTION"]
    paid = (
        amounts["DISBURSEMENT", "COMPLETED"] + amounts["suspense", "DISBURSEMENT"] + amounts["unheard", "DISBURSEMENT"]
    )
    assert (town.book["charged"], town.book["paid"]) == (charged, paid)
    assert not town.other_phones
    held = amounts["DISBURSEMENT", "PROCESSING"] + FEE * fees["DISBURSEMENT", "PROCESSING"]
    credited = sum(
        amount
        for end in town.ends.values()
        for step, _, account, amount in end.moves
        if (step, account) == ("resolution", "wallet")
    )
    came_in = amounts["COLLECTION", "COMPLETED"] - FEE * fees["COLLECTION", "COMPLETED"] + credited
    went_out = amounts["DISBURSEMENT", "COMPLETED"] + FEE * fees["DISBURSEMENT", "COMPLETED"]
    assert town.wallet == (WALLET + came_in - went_out - held, held)


@TOLD
def test_only_what_is_open_is_still_worked_on(world: World, is_told: bool) -> None:
    town = world[is_told]

    assert town.dispatches == sum(end.shown["status"] == "PROCESSING" for end in town.ends.values())


@TOLD
def test_every_callback_is_acknowledged_as_the_network_wants_it(world: World, is_told: bool) -> None:
    tellings = world[is_told].tellings

    assert {(each["verdict"], each["attempt"]) for each in tellings} <= {("acknowledged", 1)}
    assert bool(tellings) is is_told
