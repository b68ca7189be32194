"""Which pages the documentation has. They are listed in `pages.yaml`."""

from functools import cache
from importlib import resources

import msgspec
import yaml

REFERENCE = "/docs/reference"
# Links of pages to the Markdown form of the reference, docs/api.md, lead to its operation or area on the site.
IN_REFERENCE = {
    "": "",
    "routes-for-people": "#log-in",
    "create-a-collection-post-v1payments": "/collect",
    "create-a-payout-post-v1paymentsdisburse": "/disburse",
    "batches-of-payouts-v1paymentsdisbursebatches": "#batches",
    "get-a-payment-get-v1paymentsid": "/retrieve",
    "list-payments-get-v1payments": "/list",
    "cancel-a-payment-post-v1paymentsidcancel": "/cancel",
    "refund-a-collection-post-v1paymentsidrefund": "/refund",
    "get-the-wallet-get-v1wallet": "/getWallet",
    "get-the-statement-get-v1walletentries": "/listWalletEntries",
    "quote-a-fee-post-v1paymentsquote": "/quote",
    "list-channels-get-v1channels": "/listChannels",
    "read-events-get-v1events": "/listEvents",
    "webhook-endpoints-merchantwebhooks-v1webhooks": "#webhook-endpoints-by-api-key",
}


# Stands in the texts for where the reader has found the service.
EXAMPLE_URL = "https://pay.example.com"
# The same for the simulated phones, at the address that the simulator's page names for operators.
EXAMPLE_SIMULATOR_URL = "http://127.0.0.1:8081"


class DocsInstallation(msgspec.Struct, frozen=True):
    """The facts of this installation that the pages of the documentation show."""

    is_simulated: bool
    may_try: bool


class DocsPage(msgspec.Struct, frozen=True):
    name: str  # its address below /docs; the home page has none
    file: str  # below docs/
    title: str  # in the navigation
    words: str
    language: str = "en"
    weight: float = 1.0  # in the search

    @property
    def address(self) -> str:
        return f"/docs/{self.name}".rstrip("/")


class Group(msgspec.Struct, frozen=True):
    title: str
    pages: tuple[DocsPage, ...]


@cache
def groups() -> tuple[Group, ...]:
    text = resources.files("malipo.api.docs").joinpath("pages.yaml").read_text("utf-8")
    return msgspec.convert(yaml.safe_load(text), tuple[Group, ...])


@cache
def by_name() -> dict[str, DocsPage]:
    return {page.name: page for group in groups() for page in group.pages}


@cache
def by_file() -> dict[str, DocsPage]:
    return {page.file: page for page in by_name().values()}
