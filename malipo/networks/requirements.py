"""Which settings a network needs once it is connected. The start is refused when one of them is missing.

A network is connected when its address is set. One without a status query also needs its callback token and the list
of addresses that may send callbacks: without a query, unsigned callbacks end payments.
"""

from dataclasses import dataclass

from malipo.settings import Settings
from malipo.settings.environment import variable


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The settings that one network needs, by their names. Each connector has its own."""

    address: str  # the setting that connects it
    needs: tuple[str, ...]
    # Settings any of which gives it a query; None if it always has one.
    query: tuple[str, ...] | None = None
    encrypted: tuple[tuple[str, str], ...] = ()  # a secret, and the public key that it is encrypted with

    def is_connected(self, settings: Settings) -> bool:
        return bool(getattr(settings, self.address))

    def missing(self, settings: Settings, network: str) -> list[str]:
        """One sentence for each setting that a connected network needs and does not have."""
        needed = list(self.needs)
        if self.query is not None and not any(getattr(settings, each) for each in self.query):
            needed += [f"{network}_callback_token", f"{network}_callback_networks"]
        return [
            f"{variable(each)} is needed and not set (see docs/settings.md)."
            for each in needed
            if not getattr(settings, each)
        ]
