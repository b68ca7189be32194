"""Fields of a request: each is read and checked by its kind, and everything that is wrong is reported at once."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from malipo import phone as phones
from malipo.email_address import email_of
from malipo.errors import Invalid
from malipo.merchants.api_keys import AddressRange, address_range_of
from malipo.money import CURRENCY
from malipo.validation.dates import moment_of
from malipo.validation.metadata import problems_with_metadata

Choice = TypeVar("Choice", bound=StrEnum)
Word = TypeVar("Word", bound=str)

PER_PAGE = 20  # rows of a list
MOST_PER_PAGE = 100
MOST_PAGES = 1_000_000_000

_WHOLE = re.compile(r"-?[0-9]{1,19}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class FieldError:
    field: str
    code: str
    bounds: Mapping[str, int]


class Fields:
    """Known fields by name. A field that is absent or null was not sent."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._problems: dict[str, list[str]] = {}
        self.mistakes: list[FieldError] = []

    def wrong(self, name: str, code: str, message: str, **bounds: int) -> None:
        """`message` is for developers; the dashboard makes its own sentence of the code and its bounds."""
        self._problems.setdefault(name, []).append(message)
        self.mistakes.append(FieldError(name, code, bounds))

    def add(self, other: "Fields", *, prefix: str) -> None:
        """What is wrong with a part, such as an item of a list, is wrong with the whole."""
        for name, messages in other._problems.items():
            self._problems[prefix + name] = messages
        self.mistakes += [FieldError(prefix + each.field, each.code, each.bounds) for each in other.mistakes]

    @property
    def problem(self) -> Invalid | None:
        """Everything that is wrong, or None. A single mistake has a code of its own."""
        if not self._problems:
            return None
        code = self.mistakes[0].code if len(self.mistakes) == 1 else None
        return Invalid("The request has invalid fields.", code=code, details=self._problems)

    def check(self) -> None:
        if (problem := self.problem) is not None:
            raise problem

    def raw(self, name: str, default: Any = None) -> Any:
        value = self._values.get(name)
        return default if value is None else value

    def refuse_unknown(self, *known: str, of: str) -> None:
        """Where a misspelt field would move other money than was meant. Elsewhere unknown fields are ignored."""
        for name in self._values:
            if name not in known:
                self.wrong(name, "field_unknown", f"{name} is not a field of {of}: it has {', '.join(known)}.")

    def required(self, name: str) -> Any:
        value = self.raw(name)
        if value is None:
            self.wrong(name, "field_required", f"{name} is required.")
        return value

    def amount(self, name: str, *, least: int, most: int | None) -> int:
        value = self.required(name)
        if value is None:
            return 0
        if type(value) is not int:
            self.wrong(name, "amount_invalid", f"{name} must be a whole number of shillings, sent as a JSON integer.")
        elif value < least:
            self.wrong(name, "amount_too_small", f"{name} must be at least {least}.", least=least)
        elif most is not None and value > most:
            self.wrong(name, "amount_too_large", f"{name} must be at most {most}.", most=most)
        else:
            return value
        return 0

    def optional_amount(self, name: str, *, least: int, most: int | None) -> int | None:
        return None if self.raw(name) is None else self.amount(name, least=least, most=most) or None

    def phone(self, name: str) -> str:
        value = self.required(name)
        if value is None:
            return ""
        if not isinstance(value, str) or not phones.is_valid(value):
            self.wrong(
                name,
                "phone_invalid",
                "Phone number format is invalid: it must be +255, then 6 or 7, then eight digits.",
            )
            return ""
        return value

    def choice(self, name: str, choices: type[Choice], *, is_required: bool = False) -> Choice | None:
        value = self.required(name) if is_required else self.raw(name)
        if value is None:
            return None
        if not isinstance(value, str) or value not in choices.__members__.values():
            self.wrong(name, f"{name}_invalid", f"{name} must be one of {', '.join(choices)}.")
            return None
        return choices(value)

    def choice_list(self, name: str, choices: type[Choice]) -> tuple[Choice, ...]:
        """Several of them with commas between, in a query string; each once. None: empty."""
        value = self.raw(name)
        if value is None:
            return ()
        words = value.split(",") if isinstance(value, str) else []
        if not words or any(word not in choices.__members__.values() for word in words):
            message = f"{name} must be one of {', '.join(choices)}, or several with commas between them."
            self.wrong(name, f"{name}_invalid", message)
            return ()
        return tuple(each for each in choices if each in words)

    def text(self, name: str, *, most: int, is_line: bool = False) -> str:
        """A line, such as a name, is shown in lists and tables: nothing in it may look like another line."""
        value = self.raw(name, "")
        if not isinstance(value, str):
            self.wrong(name, "field_invalid", f"{name} must be text.")
        elif len(value) > most:
            message = f"{name} must be at most {most} characters; it has {len(value)}."
            self.wrong(name, "text_too_long", message, most=most)
        elif _CONTROL.search(value):
            self.wrong(name, "text_invalid", f"{name} must not contain control characters.")
        elif is_line and not value.strip().isprintable():
            self.wrong(name, "text_invalid", f"{name} must be printable characters on one line.")
        else:
            return value
        return ""

    def order_reference(self) -> str | None:
        """The merchant's own number for a payment, such as that of an order; None if it was not sent."""
        value = self.raw("orderReference")
        if value is None:
            return None
        if not isinstance(value, str) or not 1 <= len(value) <= 64 or not value.isprintable():
            message = "orderReference must be text of 1 to 64 printable characters."
            self.wrong("orderReference", "order_reference_invalid", message)
            return None
        return value

    def provider_reference(self) -> str | None:
        """A network's receipt number, as it stands in the customer's SMS."""
        value = self.raw("providerReference")
        if value is None:
            return None
        if not isinstance(value, str) or not 1 <= len(value) <= 64 or not value.isprintable():
            message = "providerReference must be text of 1 to 64 printable characters."
            self.wrong("providerReference", "provider_reference_invalid", message)
            return None
        return value

    def currency(self) -> None:
        """Amounts are shillings. A request that names another currency means another amount."""
        value = self.raw("currency")
        if value is not None and value != CURRENCY:
            self.wrong("currency", "currency_invalid", f"currency must be {CURRENCY}, or be left out.")

    def secret(self, name: str, *, is_required: bool = True) -> str:
        """A text that is never repeated in an error, such as a password; empty if it is not there and need not be."""
        value = self.required(name) if is_required else self.raw(name)
        if value is None:
            return ""
        if not isinstance(value, str) or not 1 <= len(value) <= 1000 or "\0" in value:
            self.wrong(name, "field_invalid", f"{name} must be text of 1 to 1000 characters.")
            return ""
        return value

    def email(self, name: str) -> str:
        text = self.required_text(name, most=254)
        email = email_of(text)
        if email is None and name not in self._problems:
            self.wrong(name, "email_invalid", f"{name} must be an email, such as asha@example.com.")
        return email or ""

    def required_text(self, name: str, *, most: int, is_line: bool = False) -> str:
        self.required(name)
        value = self.text(name, most=most, is_line=is_line).strip()
        if not value and name not in self._problems:
            self.wrong(name, "field_required", f"{name} must not be empty.")
        return value

    def choices(self, name: str, choices: Iterable[Word]) -> list[Word]:
        """A list of at least one, each once, in the order that was sent."""
        value = self.required(name)
        if value is None:
            return []
        members = list(choices)
        if not isinstance(value, list) or not value or any(each not in members for each in value):
            self.wrong(name, f"{name}_invalid", f"{name} must be a list of at least one of {', '.join(members)}.")
            return []
        return [members[members.index(each)] for each in dict.fromkeys(value)]

    def networks(self, name: str) -> list[AddressRange]:
        """A list of IP addresses and networks."""
        value = self.raw(name, [])
        try:
            if not isinstance(value, list) or len(value) > 50 or not all(isinstance(each, str) for each in value):
                raise ValueError
            return [address_range_of(each) for each in value]
        except ValueError:
            self.wrong(
                name,
                "address_invalid",
                f"{name} must be a list of at most 50 IP addresses or networks, such as 10.0.0.0/8.",
            )
            return []

    def metadata(self, name: str) -> dict[str, Any]:
        value = self.raw(name, {})
        if not isinstance(value, dict):
            self.wrong(name, "metadata_invalid", f"{name} must be an object.")
            return {}
        for problem in problems_with_metadata(value):
            self.wrong(name, "metadata_invalid", f"{name} {problem}.")
        return value

    def whole(self, name: str, default: int, *, least: int, most: int) -> int:
        """A number in a query string."""
        value = self.raw(name)
        if value is None:
            return default
        if not _WHOLE.fullmatch(value) or not least <= int(value) <= most:
            self.wrong(name, f"{name}_invalid", f"{name} must be a whole number from {least} to {most}.")
            return default
        return int(value)

    def boolean(self, name: str) -> bool | None:
        value = self.raw(name)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, "field_invalid", f"{name} must be true or false.")
            return None
        return value

    def page(self) -> int:
        return self.whole("page", 1, least=1, most=MOST_PAGES)

    def limit(self) -> int:
        return self.whole("limit", PER_PAGE, least=1, most=MOST_PER_PAGE)

    def check_range(self, first: datetime | None, last: datetime | None) -> None:
        if first is not None and last is not None and first > last:
            self.wrong("from", "range_invalid", "from must not be after to.")

    def moment(self, name: str, *, is_end: bool = False) -> datetime | None:
        """A date or a date-time with offset. A bare date that ends a range includes its whole day."""
        value = self.raw(name)
        if value is None:
            return None
        try:
            if not isinstance(value, str):
                raise ValueError
            return moment_of(value, is_end=is_end)
        except (ValueError, OverflowError):
            self.wrong(
                name,
                "date_invalid",
                f"{name} must be a date or a date-time with offset, such as 2026-11-15 or 2026-11-15T08:30:00Z.",
            )
            return None
