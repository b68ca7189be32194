"""What customers see of a merchant on pay pages and receipts: name, logo, contact, TIN. Pure."""

import hashlib
import re

import msgspec

_INTERNATIONAL = re.compile(r"(?:\+|00)([1-9][0-9]{7,14})")
_TANZANIAN = re.compile(r"(?:255|0)([2678][0-9]{8})")
_BETWEEN_DIGITS = re.compile(r"[\s().-]")
_TIN = re.compile(r"[0-9]{9}")


class Logo(msgspec.Struct, frozen=True):
    """Where it is found, and how large it is."""

    fingerprint: str
    width: int
    height: int


class Contact(msgspec.Struct, frozen=True):
    """How a customer reaches the merchant. Each may be missing."""

    phone: str | None = None
    whatsapp: str | None = None
    email: str | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.phone or self.whatsapp or self.email)


class PublicProfile(msgspec.Struct, frozen=True):
    registered_name: str  # of the account
    name: str | None = None  # as customers know the business
    contact: Contact = Contact()
    tin: str | None = None  # nine digits
    logo: Logo | None = None

    @property
    def shown_name(self) -> str:
        return self.name or self.registered_name

    @property
    def other_name(self) -> str | None:
        """The name of the account, where customers are shown another: they see both, so that nobody can pose."""
        return self.registered_name if self.name and self.name.casefold() != self.registered_name.casefold() else None


def contact_number_of(text: str) -> str | None:
    """The international form of a number to call, mobile or not; None if it is none."""
    plain = _BETWEEN_DIGITS.sub("", text)
    if match := _TANZANIAN.fullmatch(plain.removeprefix("+")):
        return f"+255{match[1]}"
    match = _INTERNATIONAL.fullmatch(plain)
    return f"+{match[1]}" if match and not match[1].startswith("255") else None


def tin_of(text: str) -> str | None:
    """The nine digits of a TIN; None if it is none."""
    plain = _BETWEEN_DIGITS.sub("", text)
    return plain if _TIN.fullmatch(plain) else None


def tin_as_written(tin: str) -> str:
    """`123-456-789`, as on the certificate."""
    return f"{tin[:3]}-{tin[3:6]}-{tin[6:]}"


def logo_path(fingerprint: str) -> str:
    """Where browsers find it. Another logo has another address, so that they keep each for ever."""
    return f"/pay/logo/{fingerprint}.png"


def fingerprint_of(logo: bytes) -> str:
    return hashlib.sha256(logo).hexdigest()[:32]
