"""The pages of the e-mails: the list, and one as a plain mail program shows it, as text and as HTML."""

from itertools import islice

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from malipo_simulator.api import Handler
from malipo_simulator.mail.inbox import ReceivedMail, read_mail
from malipo_simulator.pages import render
from malipo_simulator.simulator import Simulator

_MOST_SHOWN = 100
# The HTML of an e-mail may style itself, and nothing else; its links open elsewhere.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'self'; frame-ancestors 'self'; "
    "sandbox allow-popups allow-popups-to-escape-sandbox"
)


async def show_all(simulator: Simulator, request: Request) -> Response:
    to = request.query_params.get("to", "").strip()
    found = [(each, read_mail(each.content)) for each in islice(simulator.inbox.newest(to=to), _MOST_SHOWN)]
    return render.page("mail.html", mails=found, to=to, port=simulator.mail_port)


async def show(simulator: Simulator, request: Request) -> Response:
    received = _found(simulator, request)
    return render.page("mail_one.html", received=received, mail=read_mail(received.content), frames="'self'")


async def show_html(simulator: Simulator, request: Request) -> Response:
    html = read_mail(_found(simulator, request).content).html
    if not html:
        raise HTTPException(404, "This e-mail has no HTML.")
    headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return Response(html.replace("<head>", '<head><base target="_blank">', 1), media_type="text/html", headers=headers)


async def show_source(simulator: Simulator, request: Request) -> Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return Response(_found(simulator, request).content, media_type="text/plain; charset=utf-8", headers=headers)


def _found(simulator: Simulator, request: Request) -> ReceivedMail:
    number = request.path_params["number"]
    found = simulator.inbox.find(int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else None
    if found is None:
        raise HTTPException(404, "There is no such e-mail. The simulator keeps the latest, until it ends.")
    return found


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/mail", show_all),
    ("GET", "/mail/{number}", show),
    ("GET", "/mail/{number}/html", show_html),
    ("GET", "/mail/{number}/source", show_source),
)
