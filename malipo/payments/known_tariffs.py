"""The tariffs that a process has read, for the fast path."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from malipo.payments.fees import Band
from malipo.payments.store.collection_fast_path import bands_text
from malipo.payments.store.tariffs import TariffKey
from malipo.payments.transaction import Type

_MOST_TARIFFS = 10_000  # in the memory of a process


class KnownTariff(NamedTuple):
    bands: Sequence[Band]  # perhaps none
    text: str  # the same, as the fast path compares it


class KnownTariffs:
    """The tariffs that this process has read. They may be out of date, so the fast path compares each that it uses."""

    def __init__(self) -> None:
        self._known: dict[TariffKey, KnownTariff] = {}

    def note(self, keys: Iterable[TariffKey], bands: Mapping[TariffKey, Sequence[Band]]) -> None:
        if len(self._known) > _MOST_TARIFFS:
            self._known.clear()
        for key in keys:
            known, found = self._known.get(key), bands.get(key, ())
            if known is None or known.bands != found:
                self._known[key] = KnownTariff(found, bands_text(found))

    def get(self, merchant_id: str, type_: Type, channel: str) -> KnownTariff | None:
        """The tariff; None if this process has not read it."""
        return self._known.get((merchant_id, type_, channel))
