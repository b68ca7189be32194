"""The simulator's mail server takes what programs hand over, delivers nothing, and shows it."""

import re
import smtplib
from collections.abc import Iterator
from email.message import EmailMessage

import aiohttp
import pytest

from tests.simulator import processes
from tests.simulator.processes import Process


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    running = processes.start("--mail-port", "0")
    yield running
    code, complaints = running.stop()
    assert (code, complaints) == (0, "")


async def get(process: Process, path: str, *, status: int = 200) -> tuple[str, str]:
    async with aiohttp.ClientSession() as http, http.get(process.url + path) as answer:
        assert answer.status == status
        return await answer.text(), answer.headers["Content-Security-Policy"]


async def smtp(process: Process) -> smtplib.SMTP:
    page, _ = await get(process, "/mail?to=nobody-at-all")
    [port] = re.findall(r"smtp://127\.0\.0\.1:(\d+)", page)
    return smtplib.SMTP("127.0.0.1", int(port), timeout=30)


def a_mail(
    subject: str = "Payouts await approval", *, html: str = "", text: str = "Hello,\n\n.a line with a dot\n"
) -> str:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Duka Pay <no-reply@duka.example>", "neema@duka.example", subject
    mail.set_content(text)
    if html:
        mail.add_alternative(html, subtype="html")
    return mail.as_string()


async def newest(process: Process) -> str:
    page, _ = await get(process, "/mail")
    return str(re.findall(r'href="(/mail/\d+)"', page)[0])


async def test_an_email_is_shown_as_text_and_as_html(process: Process) -> None:
    with await smtp(process) as client:
        client.sendmail("no-reply@duka.example", ["neema@duka.example"], a_mail(html="<html><head></head><b>Hi</b>"))

    page, policy = await get(process, await newest(process))
    html, policy_of_html = await get(process, await newest(process) + "/html")

    assert "Payouts await approval" in page
    assert ".a line with a dot" in page
    assert "frame-src 'self'" in policy
    assert "<b>Hi</b>" in html
    assert "sandbox" in policy_of_html
    assert "script-src" not in policy_of_html


async def test_nothing_of_an_email_is_more_than_text_on_our_pages(process: Process) -> None:
    with await smtp(process) as client:
        client.sendmail("a@b.example", ["<i>@duka.example"], a_mail("<script>x</script>", text="<img src=x>"))

    for path in ("/mail", await newest(process)):
        page, _ = await get(process, path)
        assert "<script>x" not in page
        assert "<img" not in page


async def test_only_the_mails_to_an_address_are_shown(process: Process) -> None:
    with await smtp(process) as client:
        client.sendmail("a@b.example", ["asha@duka.example"], a_mail("To Asha"))
        client.sendmail("a@b.example", ["juma@duka.example"], a_mail("To Juma"))

    page, _ = await get(process, "/mail?to=asha@")

    assert ("To Asha" in page, "To Juma" in page) == (True, False)


async def test_commands_that_do_not_fit_are_refused(process: Process) -> None:
    with await smtp(process) as client:
        client.ehlo()
        assert client.docmd("RCPT TO:<a@b.example>")[0] == 503
        assert client.docmd("DATA")[0] == 503
        assert client.docmd("MAIL FROM:<a@b.example>")[0] == 250
        assert client.docmd("RCPT TO: two@b.example")[0] == 503
        assert client.docmd("VRFY a")[0] == 502
        with pytest.raises(smtplib.SMTPDataError, match="too large"):
            client.sendmail("a@b.example", ["a@b.example"], a_mail(text="x" * 70 + "\n" + ("y" * 70 + "\n") * 16_000))
        client.sendmail("a@b.example", ["a@b.example"], a_mail("After it"))


@pytest.mark.parametrize(
    "content", ["", "\xff\xfe", "Subject: =?utf-9?q?x?=\nContent-Type: text/plain; charset=nope\n\nx"]
)
async def test_whatever_a_stranger_sends_is_shown(process: Process, content: str) -> None:
    with await smtp(process) as client:
        client.sendmail("a@b.example", ["a@b.example"], content.encode("latin-1"))

    await get(process, "/mail")
    await get(process, await newest(process))


@pytest.mark.parametrize("number", ["0", "99999", "x", "-1", "9" * 30])
async def test_there_is_no_such_email(process: Process, number: str) -> None:
    await get(process, f"/mail/{number}", status=404)
