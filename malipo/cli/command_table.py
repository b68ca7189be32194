"""The commands of malipo: the module that each is in, and what it is for.

Only the module of the command that was given is imported: `malipo --help` needs none of them, and most commands need
neither HTTP nor a network.
"""

from typing import Any, NamedTuple


class Command(NamedTuple):
    module: str  # in malipo.cli
    help: str


COMMANDS = {
    "demo": Command("demo", "run everything with a demo merchant (the default of ./run)"),
    "serve": Command("serve", "run the service: migrations, then the API and a worker"),
    "reload": Command("reload", "replace the processes of a malipo serve, and wait until it is done"),
    "api": Command("api", "run one API process; it does not migrate"),
    "worker": Command("worker", "run one worker: it speaks to the networks and sends webhooks"),
    "migrate": Command("migrate", "bring the database's schema up to date"),
    "doctor": Command("doctor.commands", "look at what is needed to go live, and say what is missing"),
    "merchant": Command("merchants", "merchants and the people who speak for them"),
    "key": Command("api_keys", "the API keys of a merchant"),
    "tariff": Command("tariffs", "what a merchant's payments cost"),
    "wallet": Command("wallet", "a merchant's wallet: look, bring in, take out"),
    "payments": Command("payments", "payments that need an operator"),
    "networks": Command("networks", "the networks that are connected"),
    "hold": Command("hold", "hold all payments, or a channel's: what is held waits, and nothing is lost"),
    "restore": Command("restore", "after a backup was brought back: what is open, and sending again"),
    "ledger": Command("ledger", "the book"),
    "statements": Command("statements.commands", "what networks say of our accounts"),
    "close": Command("close.commands", "the daily close: a day's money, by the networks and by the ledger"),
    "exceptions": Command("exceptions.commands", "where statements and payments do not fit"),
    "floats": Command("floats.commands", "what lies at each network, by the ledger and as it was seen there"),
    "approvals": Command("approvals", "all that waits for a second operator, the oldest first"),
    "operators": Command("operators", "the people who run this service"),
    "audit": Command("operators", "who did what, when and from where; newest first"),
    "listen": Command("listen", "forward a merchant's events to a receiver on your own machine, as webhooks"),
    "trigger": Command("trigger", "make an event really happen, with the demo's simulated networks"),
    "secrets": Command("secrets", "the key under which secrets are kept"),
}


def add_command(commands: Any, name: str) -> Any:
    """The parser of this command. What it takes is up to its module."""
    return commands.add_parser(name, help=COMMANDS[name].help)
