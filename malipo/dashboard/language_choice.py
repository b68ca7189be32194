"""Which language a browser gets: the one that was chosen on a page (a cookie), else the one that it prefers."""

from starlette.requests import Request
from starlette.responses import Response

from malipo.dashboard import cookies
from malipo.dashboard.browser_request import BrowserRequest
from malipo.http.accept_language import Language, preferred


def language_of(request: Request) -> Language:
    chosen = request.cookies.get(cookies.LANGUAGE, "")
    if chosen in Language.__members__.values():
        return Language(chosen)
    return preferred(request.headers.get("accept-language", ""))


async def choose_language(request: BrowserRequest) -> Response:
    form = await request.form()
    response = request.go(request.inside(form.text("next")))
    if form.text("language") in Language.__members__.values():
        cookies.set_language(response, form.text("language"), path=request.root)
    return response
