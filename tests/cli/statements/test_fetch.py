"""An operator who fetches a statement at the terminal must log in before malipo sends anything to the network."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from malipo.db import Database
from tests.cli.test_wallet_command import Terminal
from tests.cli.test_wallet_command import terminal as terminal
from tests.journeys import operator_sessions

FETCH = ("statements", "fetch", "HALOPESA", "--stdin")


class Network:
    """One that takes connections and answers nothing, and knows whether it was called."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.settings: dict[str, Any] = {
            "clickpesa_base_url": url,
            "clickpesa_client_id": "IDabc",
            "clickpesa_api_key": "SKabcdefgh",
            "clickpesa_checksum_key": "CHKabcdefgh",
            "clickpesa_callback_token": "kTq8_2mVx4Zp9Lw3Rb7Yc1Nd5",
        }

    @property
    def was_called(self) -> bool:
        try:
            self._listening.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def network() -> Iterator[Network]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield Network(listening)


async def test_a_fetch_without_a_log_in_calls_no_network(terminal: Terminal, network: Network) -> None:
    refused = await terminal(*FETCH, **network.settings)
    assert (refused.code, "logged in" in refused.err, network.was_called) == (2, True, False)


async def test_an_old_session_has_no_network_called_before_the_password_is_typed(
    terminal: Terminal, network: Network, database: Database, database_url: str
) -> None:
    session = operator_sessions.session_of(database_url, "asha")
    async with database.begin() as tx:
        await tx.execute("UPDATE operator_sessions SET confirmed_at = now() - interval '11 minutes'")
    refused = await terminal(*FETCH, operator_session=session, **network.settings)
    assert (refused.code, "password" in refused.err, network.was_called) == (2, True, False)
