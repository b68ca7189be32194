"""Which connectors there are, as the settings have it, and which of them carries what."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from malipo.networks import rsa
from malipo.networks.airtel_money import AirtelMoney
from malipo.networks.contract import Channel, Connector, Type
from malipo.networks.mpesa import Mpesa
from malipo.networks.wire import Wire
from malipo.settings import BadSettings, Settings, variable
from malipo.settings.parsers import Network

Route = tuple[Channel, Type]


@dataclass(frozen=True)
class _Kind:
    """How one connector is made, what it needs, and what it carries unless a setting says otherwise."""

    make: Callable[[Settings, Wire], Connector]
    needs: tuple[str, ...]
    sealed: tuple[tuple[str, str], ...]  # a secret, and the public key that it is sealed with
    carries: tuple[Route, ...]


def _both(channel: Channel) -> tuple[Route, ...]:
    return tuple((channel, type_) for type_ in Type)


_KINDS: dict[str, _Kind] = {
    "mpesa": _Kind(
        Mpesa,
        ("mpesa_api_key", "mpesa_public_key", "mpesa_service_provider_code"),
        (("mpesa_api_key", "mpesa_public_key"),),
        _both(Channel.MPESA),
    ),
    "airtel_money": _Kind(
        AirtelMoney,
        ("airtel_money_client_id", "airtel_money_client_secret", "airtel_money_pin", "airtel_money_public_key"),
        (("airtel_money_pin", "airtel_money_public_key"),),
        _both(Channel.AIRTEL_MONEY),
    ),
}


@dataclass(frozen=True)
class Gate:
    """Where a network's callbacks come in: the secret part of the path, and from which addresses."""

    token: str
    allowed: tuple[Network, ...]


@dataclass(frozen=True)
class Networks:
    connectors: Mapping[str, Connector]
    routes: Mapping[Route, str]
    gates: Mapping[str, Gate]

    def carried_by(self, name: str) -> list[Route]:
        return [route for route, carrier in self.routes.items() if carrier == name]

    def channels_of(self, name: str) -> list[Channel]:
        return list(dict.fromkeys(channel for channel, _ in self.carried_by(name)))


def connect(settings: Settings, wire: Wire) -> Networks:
    """Everything that is connected. BadSettings says what is missing, one sentence each."""
    connected = {name: kind for name, kind in _KINDS.items() if getattr(settings, f"{name}_base_url")}
    wrong = [sentence for kind in connected.values() for sentence in _wrong(settings, kind)]
    if wrong:
        raise BadSettings(wrong)
    return Networks(
        connectors={name: kind.make(settings, wire) for name, kind in connected.items()},
        routes={route: name for name, kind in connected.items() for route in kind.carries},
        gates={
            name: Gate(token, getattr(settings, f"{name}_callback_networks"))
            for name in connected
            if (token := getattr(settings, f"{name}_callback_token"))
        },
    )


def _wrong(settings: Settings, kind: _Kind) -> list[str]:
    missing = [
        f"{variable(name)} is needed and not set (see docs/settings.md)."
        for name in kind.needs
        if not getattr(settings, name)
    ]
    return missing + [sentence for secret, key in kind.sealed if (sentence := _unsealable(settings, secret, key))]


def _unsealable(settings: Settings, secret: str, key: str) -> str | None:
    """Why a secret cannot be sealed with its key, if it cannot: better heard at the start than at the first payment."""
    if not getattr(settings, key) or not getattr(settings, secret):
        return None
    try:
        public_key = rsa.public_key(getattr(settings, key))
    except ValueError as error:
        return f"{variable(key)} {error}."
    try:
        rsa.sealed(public_key, getattr(settings, secret))
    except ValueError:
        return f"{variable(secret)} is longer than {variable(key)} can seal."
    return None
