"""/operator/books/suspense: every shilling in suspense with its cause, the oldest first, and the sums by age."""

from starlette.responses import Response

from malipo.books import suspense
from malipo.dashboard import render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.words import books as words

PATH = "/operator/books/suspense"
_MOST_SHOWN = 500


async def show(request: OperatorRequest) -> Response:
    now = request.parts.clock()
    found = await request.parts.queries.read_snapshot(lambda connection: suspense.find(connection, now=now))
    causes = {kind: request.words(sentence) for kind, sentence in words.SUSPENSE_CAUSES.items()}
    return render.page(
        request,
        "operator/books/suspense.html",
        found=found,
        items=found.items[:_MOST_SHOWN],
        is_cut=len(found.items) > _MOST_SHOWN,
        causes=causes,
    )
