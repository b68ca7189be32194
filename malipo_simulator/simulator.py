"""The parts, assembled once."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from malipo_simulator import credentials
from malipo_simulator.control import Control
from malipo_simulator.gateways import airtel, clickpesa, halopesa, mpesa, tigo
from malipo_simulator.gateways.contract import Gateway
from malipo_simulator.journal import Journal
from malipo_simulator.network import Network
from malipo_simulator.seen import Seen
from malipo_simulator.teller import Teller
from malipo_simulator.transaction import GatewayName

_GATEWAYS: dict[GatewayName, tuple[Callable[[], credentials.Keys], Callable[[Network, credentials.Keys], Gateway]]] = {
    GatewayName.MPESA: (mpesa.mint, mpesa.Mpesa),
    GatewayName.AIRTEL_MONEY: (airtel.mint, airtel.Airtel),
    GatewayName.TIGO_PESA: (tigo.mint, tigo.Tigo),
    GatewayName.HALOPESA: (halopesa.mint, halopesa.Halopesa),
    GatewayName.CLICKPESA: (clickpesa.mint, clickpesa.Clickpesa),
}


@dataclass
class Simulator:
    network: Network
    gateways: dict[GatewayName, Gateway]
    seen: Seen
    teller: Teller
    journal: Journal | None

    @classmethod
    def assemble(cls, *, state: Path | None, speed: float, now: Callable[[], float]) -> "Simulator":
        journal = Journal(state) if state else None
        keys = credentials.load(state, {name: mint for name, (mint, _) in _GATEWAYS.items()})
        network = Network(Control(speed), journal, now)
        gateways = {name: kind(network, keys[name]) for name, (_, kind) in _GATEWAYS.items()}
        seen = Seen()
        teller = Teller(network, gateways, seen)
        network.tell, network.tell_opening, network.tell_aside = teller.tell, teller.tell_opening, teller.tell_aside
        return cls(network, gateways, seen, teller, journal)

    def forget(self) -> None:
        """Everything but the credentials."""
        self.teller.forget()
        self.network.reset()
        self.seen.clear()

    async def close(self) -> None:
        await self.teller.close()
        if self.journal:
            self.journal.close()
