"""/operator/close: a day with its two columns, what is missing, closing it, on paper and as CSV; and accepting by two."""

import csv
import io
import re
import subprocess
from datetime import timedelta
from pathlib import Path

from malipo import clock
from tests.dashboard.operator.operator_pages import Operator, OperatorPages
from tests.dashboard.operator.operator_pages import operator_pages as operator_pages
from tests.dashboard.operator.own_database import database as database
from tests.dashboard.operator.own_database import database_url as database_url
from tests.dashboard.operator.own_database import running as running
from tests.dashboard.operator.own_database import service as service
from tests.dashboard.operator.statement_pages import START, generic, import_from, sent

PATH = "/operator/close"
FIRST = START.date()  # which is 1 November; each file below covers whole days


def _run(command: str, folder: Path) -> str:
    return subprocess.run(command.split(), cwd=folder, capture_output=True, text=True, check=True).stdout


async def _import(operator: Operator, content: bytes) -> None:
    done = await import_from(operator, await sent(operator, content))
    assert done.status == 303, done.words


async def test_a_day_is_closed_with_its_statement_and_read_on_paper_and_as_csv(
    operator_pages: OperatorPages, tmp_path: Path
) -> None:
    asha = await operator_pages.operator("asha")
    empty = await asha.surfer.get(PATH)
    assert "Choose the first day that is closed." in empty.words
    day = f"{PATH}/{FIRST}"
    assert (await asha.surfer.get(f"{PATH}/day?day={FIRST}")).to == day
    await _import(asha, generic([("Z1", 5000)], opening=0, hours=24))
    seen = await asha.surfer.get(day)
    for shown in ("Tigo Pesa", "5,000", "Open exceptions", "Statement of the network"):
        assert shown in seen.words
    [link] = re.findall(r'href="#(open-[A-Z_]+)"', seen.text)
    assert f'id="{link}"' in seen.text, "the number of what is open leads to what is open"
    assert "Open at the end of the day 1 1 of them is an exception" in seen.words
    assert (await asha.surfer.get(f"{day}/close.csv")).status == 404, "it is not closed yet"

    assert (await asha.surfer.post(f"{day}/close")).to == day
    closed = await asha.surfer.get(day)
    assert "The day is closed and signed." in closed.words
    assert f"{day}/close" not in re.findall(r'action="([^"]+)"', closed.text)
    assert "1 Nov 2026" in (await asha.surfer.get(PATH)).words
    command = re.search(r"openssl pkeyutl [^<]+", closed.text)
    assert command
    for name in ("close.signed", "close.sig", "key.pem"):
        async with asha.surfer.http.get(asha.surfer.url + f"{day}/{name}", headers=asha.surfer.headers) as file:
            saved = re.findall(r'filename="(.+)"', file.headers["Content-Disposition"])[0]
            (tmp_path / saved).write_bytes(await file.read())
    assert _run(command[0], tmp_path) == "Signature Verified Successfully\n", "with the files as a browser saves them"
    assert "-----BEGIN PUBLIC KEY-----" in (await asha.surfer.get(PATH)).words
    paper = await asha.surfer.get(f"{day}/print")
    assert "The day is closed." in paper.words
    assert 'class="notice' not in paper.text, "notices are not printed"
    assert "Prepared by Name, signature, date Checked by" in paper.words
    sheet = await asha.surfer.get(f"{day}/close.csv")
    assert sheet.headers["Content-Disposition"] == f'attachment; filename="close-{FIRST}.csv"'
    rows = list(csv.DictReader(io.StringIO(sheet.text, newline="")))
    assert ("TIGO_PESA", "closing", "5000") in [(row["channel"], row["row"], row["statement"]) for row in rows]

    again = await asha.surfer.post(f"{day}/close")
    assert again.status == 409
    assert (await asha.surfer.get(f"{PATH}/{FIRST + timedelta(days=5)}")).to == PATH, "days are closed in order"


async def test_what_is_missing_is_said_and_a_day_that_is_not_over_stays_open(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    today = clock.day_of(clock.now())
    assert "The day is not over yet." in (await asha.surfer.get(f"{PATH}/{today}")).words
    assert (await asha.surfer.post(f"{PATH}/{today}/close")).status == 400
    fields = {"way": "from_bank", "channel": "MPESA", "account": "", "amount": "70000", "reference": "NMB-1"}
    assert (await asha.surfer.post("/operator/floats/transfer", fields)).status == 303
    async with operator_pages.service.queries.database.begin() as tx:
        for table in ("house_bookings", "moves"):
            await tx.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        await tx.execute(
            "UPDATE house_bookings SET value_date = value_date - 2, booked_at = booked_at - interval '2 days'"
        )
        await tx.execute("UPDATE moves SET created_at = created_at - interval '2 days'")
    day = f"{PATH}/{today - timedelta(days=2)}"  # Yesterday can be closed only a quarter of an hour after midnight.
    seen = await asha.surfer.get(day)
    assert "Statements are missing. Import them first." in seen.words
    assert (await asha.surfer.post(f"{day}/close")).status == 400
    short = await asha.surfer.post(f"{day}/close", {"without": "MPESA", "reason": "no"})
    assert (short.status, 'id="field-reason-wrong"' in short.text) == (400, True)
    done = await asha.surfer.post(f"{day}/close", {"without": "MPESA", "reason": "The portal of M-Pesa is down"})
    assert done.to == day, done.words
    assert "Without a statement" in (await asha.surfer.get(PATH)).words


async def test_a_day_that_does_not_add_up_is_closed_only_by_two_who_accept_it(operator_pages: OperatorPages) -> None:
    asha, juma = await operator_pages.operator("asha"), await operator_pages.operator("juma")
    day = f"{PATH}/{FIRST}"
    await _import(asha, generic([("Z1", 5000)], opening=0, hours=24))
    async with operator_pages.service.queries.database.begin() as tx:
        await tx.execute("UPDATE wallets SET available = available + 5")  # as a bug would
    refused = await asha.surfer.post(f"{day}/close")
    assert (refused.status, "The day does not add up." in refused.words) == (400, True)
    accepts = {"accept": "yes", "reason": "Five shillings too many, looked for since Monday"}
    assert (await asha.surfer.post(f"{day}/close", accepts | {"reason": ""})).status == 400
    assert (await asha.surfer.post(f"{day}/close", accepts)).to == day
    assert "has proposed to close" in (await juma.surfer.get(PATH)).words

    own = await asha.surfer.get(day)
    proposal = _proposal(own.text)
    assert f"{day}/approve" not in own.text
    alone = await asha.surfer.post(f"{day}/approve", {"proposal": proposal})
    assert (alone.status, "it takes two operators" in alone.words) == (403, True)
    assert (await juma.surfer.post(f"{day}/approve", {"proposal": "dcp_another"})).status == 400
    assert (await asha.surfer.post(f"{day}/reject", {"proposal": proposal})).to == day, "taken back"
    assert (await juma.surfer.post(f"{day}/approve", {"proposal": proposal})).status == 400

    assert (await asha.surfer.post(f"{day}/close", accepts)).to == day
    proposal = _proposal((await juma.surfer.get(day)).text)
    assert (await juma.surfer.post(f"{day}/approve", {"proposal": proposal})).to == day
    closed = await juma.surfer.get(day)
    assert "It does not add up, and two operators have accepted that." in closed.words
    assert "Five shillings too many" in closed.words


def _proposal(text: str) -> str:
    found = re.search(r'name="proposal" value="(\w+)"', text)
    assert found
    return found[1]


async def test_what_is_no_day_is_not_found(operator_pages: OperatorPages) -> None:
    asha = await operator_pages.operator("asha")
    for text in ("tomorrow", "2026-13-01", "0001-01-01"):
        assert (await asha.surfer.get(f"{PATH}/{text}")).status == 404
