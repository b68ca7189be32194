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
    "reload": Command("reload", "replace the processes of a running malipo serve, and wait for the new ones"),
    "api": Command("api", "run one API process; it does not migrate"),
    "worker": Command("worker", "run one worker process: it calls the networks and sends webhooks"),
    "migrate": Command("migrate", "apply pending migrations to the database"),
    "doctor": Command("doctor.commands", "check the installation before going live, and list what is missing"),
    "merchant": Command("merchants", "manage merchants and their people"),
    "key": Command("api_keys", "manage a merchant's API keys"),
    "tariff": Command("tariffs", "show and set the fees of a merchant"),
    "wallet": Command("wallet", "show a merchant's wallet; book top-ups and settlements"),
    "payments": Command("payments", "list and resolve payments that need an operator"),
    "networks": Command("networks", "list and verify the connected networks"),
    "numbers": Command("numbers", "block phone numbers: pay pages no longer ask them"),
    "mail": Command("mail", "test the mail server; list the messages that wait or were refused"),
    "hold": Command("hold", "stop sending payments, of all channels or of one; held payments wait"),
    "restore": Command("restore", "after a restore from a backup: show what is open, and release sending"),
    "ledger": Command("ledger", "check the ledger"),
    "statements": Command("statements.commands", "import and match the networks' statements"),
    "close": Command(
        "close.commands", "close a day: compare the networks' statements with the ledger, and sign the result"
    ),
    "books": Command("books.commands", "trial balance and journal, for accountants; bookings of the house at its bank"),
    "invoices": Command("invoices", "issue invoices of fees for closed months, and credit notes; rates of VAT"),
    "exceptions": Command("exceptions.commands", "list and resolve differences between statements and payments"),
    "bank": Command("bank.commands", "pay settlements by files, and import the statements of our own bank accounts"),
    "floats": Command("floats.commands", "show the balance at each network, by the ledger and as last read there"),
    "settlements": Command("settlements", "verify bank accounts of merchants; list, cancel and release settlements"),
    "approvals": Command("approvals", "list what waits for a second operator, oldest first"),
    "operators": Command("operators", "manage the operators of this installation"),
    "audit": Command("operators", "show the audit log, newest first"),
    "listen": Command("listen", "forward a merchant's events to a receiver on your own machine, as webhooks"),
    "trigger": Command("trigger", "make a real event happen on the demo's simulated networks"),
    "log": Command("receipt_log", "the receipt log: its state, its keys, its check"),
    "secrets": Command("secrets", "manage the key that encrypts stored secrets"),
}


def add_command(commands: Any, name: str) -> Any:
    """The parser of this command. Its module adds the arguments."""
    return commands.add_parser(name, help=COMMANDS[name].help)
