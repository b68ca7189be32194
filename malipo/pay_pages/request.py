"""A request of a customer's browser, without a log-in: its language, and the payment that it has begun here."""

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from malipo.accounts.login_attempts import counted_address
from malipo.dashboard.forms import Form
from malipo.dashboard.language import Translator
from malipo.http.accept_language import Language, preferred
from malipo.http.client_address import address_of, is_secure
from malipo.merchants.public_profile import PublicProfile
from malipo.pay_pages import press_marker
from malipo.pay_pages.attempt_cookie import attempt_in
from malipo.pay_pages.parts import PayParts

PACKAGE = "malipo.pay_pages"


@dataclass(frozen=True, slots=True)
class PayRequest:
    parts: PayParts
    http: Request
    words: Translator
    form: Form | None = None  # of a POST

    @classmethod
    def of(cls, parts: PayParts, request: Request, form: Form | None = None) -> "PayRequest":
        return cls(parts, request, Translator(language_of(request), PACKAGE), form)

    @property
    def typed(self) -> Form:
        assert self.form is not None, "only a POST has one"
        return self.form

    @property
    def address(self) -> str:
        """The client's address in the form in which it is counted."""
        return counted_address(str(address_of(self.http, self.parts.settings.trusted_proxies)))

    @property
    def is_over_tls(self) -> bool:
        return is_secure(self.http, self.parts.settings.trusted_proxies)

    @property
    def code(self) -> str:
        return str(self.http.path_params["code"])

    @property
    def place(self) -> str:
        """The address of the link or the receipt, whichever of its pages is asked for."""
        _, kind, which, *_ = [*self.http.url.path.split("/"), "", ""]
        return f"/{kind}/{which.lower() if kind == 'pay' else which}"

    def remember_merchant(self, merchant: PublicProfile) -> None:
        """For an error page at the same address."""
        self.parts.shown_merchants.remember(self.place, merchant, now=self.parts.clock())

    def remembered_merchant(self) -> PublicProfile | None:
        return self.parts.shown_merchants.find(self.place, now=self.parts.clock())

    def known_attempt(self, code: str) -> str | None:
        """The id of the payment that this browser has begun at this link."""
        return attempt_in(self.parts.cookies, code, self.http.cookies)

    def has_lost_cookie(self, code: str) -> bool:
        """Whether this browser has pressed at this link a short time ago and has not kept the cookie."""
        mark = self.http.query_params.get(press_marker.NAME, "")
        is_fresh = press_marker.is_fresh(self.parts.cookies, code, mark, now=self.parts.clock())
        return is_fresh and self.known_attempt(code) is None

    def in_language(self, language: str) -> str:
        """The address of this page in another language. A page that answers a form is shown anew."""
        kept = [each for each in self.http.query_params.multi_items() if each[0] in ("again", press_marker.NAME)]
        path = self.http.url.path.removesuffix("/withdraw")
        return f"{path}?{urlencode([*kept, ('lang', language)])}"

    def go(self, path: str, **more: str) -> Response:
        """Redirect to another page, so that reloading it does not send the form again."""
        return RedirectResponse(f"{path}?{urlencode({'lang': self.words.language, **more})}", HTTPStatus.SEE_OTHER)


def language_of(request: Request) -> Language:
    """The language that was chosen on a page, or else the one that the browser prefers."""
    chosen = request.query_params.get("lang", "")
    if chosen in Language.__members__.values():
        return Language(chosen)
    return preferred(request.headers.get("accept-language", ""))
