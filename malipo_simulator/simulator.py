"""The simulator: builds its parts, once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from malipo_simulator import credentials
from malipo_simulator.bank.bank import Bank
from malipo_simulator.callback_sender import CallbackSender
from malipo_simulator.control import Control
from malipo_simulator.gateways import airtel, azampay, clickpesa, halopesa, mpesa, tigo
from malipo_simulator.gateways.gateway import Gateway
from malipo_simulator.journal import Journal
from malipo_simulator.mail.inbox import Inbox
from malipo_simulator.network import Network
from malipo_simulator.request_log import RequestLog
from malipo_simulator.transaction import GatewayName

_GATEWAYS: dict[GatewayName, tuple[Callable[[], credentials.Keys], Callable[[Network, credentials.Keys], Gateway]]] = {
    GatewayName.MPESA: (mpesa.mint, mpesa.Mpesa),
    GatewayName.AIRTEL_MONEY: (airtel.mint, airtel.Airtel),
    GatewayName.TIGO_PESA: (tigo.mint, tigo.Tigo),
    GatewayName.HALOPESA: (halopesa.mint, halopesa.Halopesa),
    GatewayName.CLICKPESA: (clickpesa.mint, clickpesa.Clickpesa),
    GatewayName.AZAMPAY: (azampay.mint, azampay.Azampay),
}


def load_credentials(folder: Path | None) -> dict[str, credentials.Keys]:
    """Of every gateway; generated if the folder has none."""
    return credentials.load(folder, {name: mint for name, (mint, _) in _GATEWAYS.items()})


@dataclass
class Simulator:
    network: Network
    gateways: dict[GatewayName, Gateway]
    seen: RequestLog
    callback_sender: CallbackSender
    journal: Journal | None
    bank: Bank
    inbox: Inbox = field(default_factory=Inbox)
    mail_port: int | None = None  # of the mail server, if there is one

    @classmethod
    def assemble(
        cls,
        *,
        state: Path | None,
        speed: float,
        now: Callable[[], float],
        keys: dict[str, credentials.Keys] | None = None,
    ) -> "Simulator":
        journal = Journal(state) if state else None
        keys = keys or load_credentials(state)
        network = Network(Control(speed), journal, now)
        gateways = {name: kind(network, keys[name]) for name, (_, kind) in _GATEWAYS.items()}
        seen = RequestLog()
        callback_sender = CallbackSender(network, gateways, seen)
        network.tell, network.tell_opening, network.tell_aside = (
            callback_sender.tell,
            callback_sender.tell_opening,
            callback_sender.tell_aside,
        )
        return cls(network, gateways, seen, callback_sender, journal, Bank(state))

    def forget(self) -> None:
        """Everything but the credentials."""
        self.callback_sender.forget()
        self.network.reset()
        self.seen.clear()
        self.bank.reset()
        self.inbox.clear()

    async def close(self) -> None:
        await self.callback_sender.close()
        if self.journal:
            self.journal.close()
