"""The journal of a period and its summary vouchers, as files: sent while they are read, in constant memory."""

from collections.abc import AsyncIterator

from starlette.responses import Response

from malipo.books import store
from malipo.books.read_journal import Period
from malipo.books.vouchers import require_closed
from malipo.books.write_journal import FORMATS, VOUCHER_ENDINGS, VOUCHERS, JournalWriter, VoucherWriter
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.books.own_snapshot import download, read
from malipo.dashboard.operator.books.typed_period import TypedPeriod
from malipo.dashboard.operator.books_words import journal_words
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn
from malipo.errors import Missing, Refusal

_MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "xml": "application/xml"}
_TEXT = "text/plain; charset=utf-8"
_PIECE = 64 * 1024


async def send_journal(request: OperatorRequest) -> Response:
    format_, period = _known(request, "format", FORMATS), _period(request)

    async def pieces(connection: Conn) -> AsyncIterator[str]:
        words = journal_words(period, await store.find_names(connection), request.words)
        async for piece in joined(JournalWriter(FORMATS[format_](words)).pieces(connection, period)):
            yield piece

    name = f"journal_{period.first}_{period.last}.{format_}"
    return await download(request, pieces, name=name, media_type=_MEDIA_TYPES.get(format_, _TEXT))


async def send_vouchers(request: OperatorRequest) -> Response:
    format_, period = _known(request, "format", VOUCHERS), _period(request)
    try:
        await read(request, lambda connection: require_closed(connection, period))
    except Refusal as refusal:
        sentence = form_errors.of_refusal(request.words, refusal)
        return render.page(
            request, "operator/books/refused.html", status=form_errors.status_of(refusal), sentence=sentence
        )
    with_opening = request.http.query_params.get("opening") == "yes"

    async def pieces(connection: Conn) -> AsyncIterator[str]:
        words = journal_words(period, await store.find_names(connection), request.words)
        writer = VoucherWriter(VOUCHERS[format_](words))
        async for piece in joined(writer.pieces(connection, period, with_opening=with_opening)):
            yield piece

    ending = VOUCHER_ENDINGS[format_]
    name = f"vouchers_{period.first}_{period.last}.{ending}"
    return await download(request, pieces, name=name, media_type=_MEDIA_TYPES[ending])


def _known(request: OperatorRequest, name: str, formats: object) -> str:
    format_ = str(request.http.path_params[name])
    if not isinstance(formats, dict) or format_ not in formats:
        raise Missing("There is no such format.")
    return format_


def _period(request: OperatorRequest) -> Period:
    typed = TypedPeriod(request.http.query_params, request.parts.clock())
    typed.fields.check()
    return typed.period


async def joined(texts: AsyncIterator[str]) -> AsyncIterator[str]:
    """Fewer, larger pieces: a journal has one for each entry."""
    held: list[str] = []
    size = 0
    async for text in texts:
        held.append(text)
        size += len(text)
        if size >= _PIECE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)
