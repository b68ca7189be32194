"""The form in which an account chooses its e-mail messages, on both sites, and the texts beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from malipo import money
from malipo.dashboard import form_errors
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.forms import Form
from malipo.dashboard.language import NAMES, Translator
from malipo.db import Conn, Tx
from malipo.http.accept_language import Language
from malipo.mail import letter
from malipo.mail.words import KIND_WORDS
from malipo.messages.kinds import KINDS, PASSWORD_LINK_KINDS, Audience, MessageKind
from malipo.messages.store import choices
from malipo.messages.store.choices import Choice
from malipo.validation.fields import Fields
from malipo.validation.typed_values import amount_of


@dataclass(frozen=True, slots=True)
class TypedChoices:
    kinds: Sequence[str]
    below: str  # of the wallet, in shillings
    language: str


async def find(connection: Conn, account_id: str, kinds: Sequence[MessageKind], default: Language) -> TypedChoices:
    """The account's choices, as the initial values of its form."""
    chosen = await choices.find(connection, account_id)
    language = await choices.language_of(connection, account_id)
    below = chosen[MessageKind.WALLET_LOW].amount if MessageKind.WALLET_LOW in chosen else None
    wanted = [kind for kind in kinds if (chosen[kind].is_wanted if kind in chosen else KINDS[kind].is_default)]
    return TypedChoices(wanted, f"{below:,}" if below is not None else "", language or default)


def read(form: Form) -> TypedChoices:
    return TypedChoices(form.all("kinds"), form.text("below"), form.text("language"))


def problems_of(request: BrowserRequest, typed: TypedChoices) -> Mapping[str, str]:
    """The mistakes in the form, by field. A warning of a low wallet needs an amount."""
    if MessageKind.WALLET_LOW not in typed.kinds and not typed.below:
        return {}
    fields = Fields({"below": amount_of(typed.below) if typed.below else None})
    fields.amount("below", least=1, most=money.LARGEST)
    return form_errors.in_words(request.words, fields)


async def write(tx: Tx, account_id: str, kinds: Sequence[MessageKind], typed: TypedChoices) -> None:
    below = amount_of(typed.below) if typed.below else None
    assert below is None or isinstance(below, int), "the form was checked"
    chosen = {kind: Choice(kind in typed.kinds, below if kind is MessageKind.WALLET_LOW else None) for kind in kinds}
    await choices.write(tx, account_id, chosen)
    if typed.language in Language.__members__.values():
        await choices.set_language(tx, account_id, typed.language)


def shown(request: BrowserRequest, kinds: Sequence[MessageKind], always: Sequence[Audience]) -> dict[str, Any]:
    """The values that the form shows: the title of each kind, and the titles of kinds that cannot be switched off."""
    words = Translator(request.words.language, letter.PACKAGE)
    return {
        "kinds": [(kind, words(KIND_WORDS[kind].title)) for kind in kinds],
        "always": [
            words(KIND_WORDS[kind].title)
            for kind, rule in KINDS.items()
            if rule.is_always and rule.audience in always and kind not in PASSWORD_LINK_KINDS
        ],
        "message_languages": [(each, NAMES[each]) for each in Language],
        "sends_mail": request.parts.settings.smtp_url is not None,
    }
