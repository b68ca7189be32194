"""Words for the effects of operators' decisions: names of accounts, sentences about withdrawing a file. Pure."""

from malipo.ledger.accounts import Account
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.networks.connector import Channel
from malipo.reconciliation.exceptions.find_effect import OWED, AccountChange, ImportNote
from malipo.reconciliation.statements.statement_file import LayoutAuthor, LayoutChoice

ACCOUNTS = {
    Account.FLOAT: "Float at {of}",
    Account.WALLET: "Wallet of {of}",
    Account.IN_FLIGHT: "In flight of {of}",
    Account.IN_SETTLEMENT: "In settlement of {of}",
    Account.BANK: "Bank, by the ledger",
    Account.FEES: "Fees earned",
    Account.SUSPENSE: "Suspense",
    Account.LOSSES: "Written off",
    Account.NETWORK_FEES: "Charged by networks",
    Account.ROUNDING: "Rounding of cents",
    OWED: "Owed by {of}",
}
NOTHING = "Nothing moves in the ledger."
IMPORT_NOTES: dict[str, str] = {
    ImportNote.ELSEWHERE: "Fees and sweeps of it that other files have too: {count}. They are booked anew under those "
    "files right afterwards, so this change is without them.",
    ImportNote.CALLED_OTHERWISE: "Fees and sweeps of it that other files call something else: {count}. They become "
    "what those files call them.",
    ImportNote.AWAITS_APPROVAL: "Fees and sweeps of files that operators brought, and that wait for a second operator "
    "afterwards: {count}. This change books them back.",
    ImportNote.MATCHES: "Matches that are undone: {count}.",
    ImportNote.STAYS: "Payments that it has ended or corrected, and that stay as they are: {count}.",
}
# The operators who said how a file is read, beside its importer.
AUTHORS = {
    LayoutChoice.COLUMNS: "{name} saved the layout {layout}, by which it is read.",
    LayoutChoice.AGGREGATOR: "{name} said whose account files of the layout {layout} are of.",
    LayoutChoice.MOVED: "{name} said that the status “{word}” means that money moved. Rows: {rows}.",
    LayoutChoice.NOT_MOVED: "{name} said that the status “{word}” means that no money moved. Rows: {rows}.",
}


def title_of(change: AccountChange) -> str:
    """The title of the account, with a place for the name of its owner."""
    return ACCOUNTS.get(change.account, change.account)


def author_of(author: LayoutAuthor, layout: str) -> tuple[str, dict[str, str]]:
    """A sentence, and its values. How many rows have a word is not known of files that older versions have read."""
    name = author.by.removeprefix("operator ")
    rows = f"{author.rows:,}" if author.rows else "?"
    return AUTHORS[author.said], {"name": name, "layout": layout, "word": author.word, "rows": rows}


def owner_of(change: AccountChange, merchants: dict[str, str]) -> str:
    """Whose it is: a network, or a merchant by name."""
    if change.account == Account.FLOAT:
        return PROFILES[Channel(change.of)].name
    return merchants.get(change.of, change.of)
