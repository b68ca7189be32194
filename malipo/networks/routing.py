"""Routing: which connectors the settings connect, and which of them carries which channel and type."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import product

from malipo.networks import rsa
from malipo.networks.airtel_money.connector import AirtelMoney
from malipo.networks.azampay.connector import Azampay
from malipo.networks.clickpesa.connector import Clickpesa
from malipo.networks.connector import Channel, Connector, Type
from malipo.networks.halopesa.connector import Halopesa
from malipo.networks.http.client import HttpClient
from malipo.networks.mpesa.connector import Mpesa
from malipo.networks.name_lookup import NameLookup
from malipo.networks.requirements import Requirements
from malipo.networks.tigo_pesa.connector import TigoPesa
from malipo.settings import Settings
from malipo.settings.environment import BadSettings, variable
from malipo.settings.parsers import Network

Route = tuple[Channel, Type]


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """How one connector is made, what it needs, and what it can carry."""

    make: Callable[[Settings, HttpClient], Connector]
    requirements: Requirements
    carries: tuple[Route, ...]
    by_default: tuple[Route, ...]  # channels that it carries unless a setting says otherwise


def _both(channel: Channel) -> tuple[Route, ...]:
    return tuple((channel, type_) for type_ in Type)


_HALOPESA_PAYOUTS = ((Channel.HALOPESA, Type.DISBURSEMENT),)
_HALOPESA_COLLECTIONS = ((Channel.HALOPESA, Type.COLLECTION),)

_KINDS: dict[str, _Kind] = {
    "mpesa": _Kind(
        make=Mpesa,
        requirements=Mpesa.requirements,
        carries=_both(Channel.MPESA),
        by_default=_both(Channel.MPESA),
    ),
    "airtel_money": _Kind(
        make=AirtelMoney,
        requirements=AirtelMoney.requirements,
        carries=_both(Channel.AIRTEL_MONEY),
        by_default=_both(Channel.AIRTEL_MONEY),
    ),
    "tigo_pesa": _Kind(
        make=TigoPesa,
        requirements=TigoPesa.requirements,
        carries=_both(Channel.TIGO_PESA),
        by_default=_both(Channel.TIGO_PESA),
    ),
    "halopesa": _Kind(
        make=Halopesa,
        requirements=Halopesa.requirements,
        carries=_HALOPESA_COLLECTIONS,
        by_default=_HALOPESA_COLLECTIONS,
    ),
    "clickpesa": _Kind(
        make=Clickpesa,
        requirements=Clickpesa.requirements,
        carries=tuple(route for channel in Channel for route in _both(channel)),
        by_default=_HALOPESA_PAYOUTS,
    ),
    "azampay": _Kind(
        make=Azampay,
        requirements=Azampay.requirements,
        carries=tuple((channel, Type.DISBURSEMENT) for channel in Channel),
        by_default=(),
    ),
}


def carried_by_each() -> dict[str, tuple[Route, ...]]:
    """The channels of every connector, connected or not: one that was connected before may have left payments."""
    return {name: kind.carries for name, kind in _KINDS.items()}


@dataclass(frozen=True)
class CallbackAccess:
    """Who may send a network's callbacks: the secret part of the path, and the allowed addresses. If such a callback
    reports a payment above the review amount as paid, operators review it."""

    token: str
    allowed: tuple[Network, ...]
    review_amount: int | None = None


@dataclass(frozen=True)
class Networks:
    connectors: Mapping[str, Connector]
    routes: Mapping[Route, str]
    callback_access: Mapping[str, CallbackAccess]
    # A payment is ended by the connector that sent it, also after a setting has moved its channel to another.
    reach: Mapping[str, tuple[Channel, ...]]
    names: NameLookup

    def carried_by(self, name: str) -> list[Route]:
        return [route for route, carrier in self.routes.items() if carrier == name]

    def account_name(self, name: str, channel: Channel) -> str:
        """The name of a connector's account among the accounts of a channel: in statements, readings and transfers.

        It is empty for the channel's own network, and for a connector that alone carries this channel and no other.
        """
        is_shared = any(other is not channel for other, _ in self.carried_by(name))
        is_only_one = all(carrier == name for (each, _), carrier in self.routes.items() if each is channel)
        return "" if name == channel.lower() or (is_only_one and not is_shared) else name


def connect(settings: Settings, http_client: HttpClient) -> Networks:
    """Everything that is connected. BadSettings says what is missing, one sentence each."""
    connected = {name: kind for name, kind in _KINDS.items() if kind.requirements.is_connected(settings)}
    routes, misrouted = _routes(settings, connected)
    wrong = [sentence for name, kind in connected.items() for sentence in _wrong(settings, name, kind)] + misrouted
    if wrong:
        raise BadSettings(wrong)
    connectors = {name: kind.make(settings, http_client) for name, kind in connected.items()}
    return Networks(
        connectors=connectors,
        routes=routes,
        callback_access={
            name: CallbackAccess(
                token,
                getattr(settings, f"{name}_callback_networks"),
                settings.halopesa_review_amount if name == "halopesa" else None,
            )
            for name in connected
            if (token := getattr(settings, f"{name}_callback_token"))
        },
        reach={name: tuple(dict.fromkeys(channel for channel, _ in kind.carries)) for name, kind in connected.items()},
        names=NameLookup(connectors, routes, timeout_seconds=settings.recipient_lookup_seconds),
    )


def unconnected_routes(routes: Collection[Route]) -> list[Route]:
    """The channels that no connector carries: nobody sends their payments."""
    return [route for route in product(Channel, Type) if route not in routes]


def find_unconnected(settings: Settings) -> list[Route]:
    """Find what is not connected by the settings alone, for a process that needs no connectors."""
    connected = {name: kind for name, kind in _KINDS.items() if kind.requirements.is_connected(settings)}
    return unconnected_routes(_routes(settings, connected)[0])


def _routes(settings: Settings, connected: Mapping[str, _Kind]) -> tuple[dict[Route, str], list[str]]:
    routes = {route: name for name, kind in connected.items() for route in kind.by_default}
    wrong = []
    for route in ((channel, type_) for channel in Channel for type_ in Type):
        setting = f"route_{route[0].lower()}_{route[1].lower()}"
        chosen = getattr(settings, setting)
        if chosen is None:
            continue
        if chosen not in connected:
            wrong.append(f"{variable(setting)} names {chosen}, which is not connected (see docs/settings.md).")
        elif route not in connected[chosen].carries:
            wrong.append(f"{variable(setting)} names {chosen}, which cannot carry that (see docs/settings.md).")
        routes[route] = chosen
    return routes, wrong


def _wrong(settings: Settings, name: str, kind: _Kind) -> list[str]:
    missing = kind.requirements.missing(settings, name)
    missing += [
        sentence for secret, key in kind.requirements.encrypted if (sentence := _unencryptable(settings, secret, key))
    ]
    return missing or _unmakeable(settings, kind)


def _unmakeable(settings: Settings, kind: _Kind) -> list[str]:
    """Errors that only making the connector shows, such as a key that is too short for what it signs."""
    try:
        kind.make(settings, HttpClient())
    except ValueError as error:
        return [f"{variable(kind.requirements.address)} is set, but it cannot be connected: {error}."]
    return []


def _unencryptable(settings: Settings, secret: str, key: str) -> str | None:
    """Why a secret cannot be encrypted with its key, if it cannot: better reported at the start than at the first
    payment.
    """
    if not getattr(settings, key) or not getattr(settings, secret):
        return None
    try:
        public_key = rsa.public_key(getattr(settings, key))
    except ValueError as error:
        return f"{variable(key)} {error}."
    try:
        rsa.encrypted(public_key, getattr(settings, secret))
    except ValueError:
        return f"{variable(secret)} is longer than {variable(key)} can encrypt."
    return None
