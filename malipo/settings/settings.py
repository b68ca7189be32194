"""Everything an operator can set: one frozen object, read once from `MALIPO_…` and handed down.

Here they are declared. How they are read, and what becomes of a name we do not know, is in `environment.py`; how a
secret is read from a file in `secret_files.py`. Which settings a network needs stands in its connector.
`docs/settings.md` is kept in step with this file by a test.
"""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from malipo.settings import mail
from malipo.settings import parsers as parse
from malipo.settings.networks import (
    AirtelMoneySettings,
    AzampaySettings,
    ClickpesaSettings,
    HalopesaSettings,
    MpesaSettings,
    RouteSettings,
    TigoPesaSettings,
)
from malipo.settings.parsers import Network, setting


@dataclass(frozen=True, kw_only=True)
class Settings(
    MpesaSettings,
    AirtelMoneySettings,
    TigoPesaSettings,
    HalopesaSettings,
    ClickpesaSettings,
    AzampaySettings,
    RouteSettings,
):
    # Where it listens, where customers find it, and where its files are.
    host: str = setting("127.0.0.1", parse.text)
    port: int = setting(8080, parse.PORT)
    public_url: str | None = setting(None, parse.own_url)
    data_dir: Path = setting(Path("var"), parse.path)
    state_dir: str | None = setting(None, parse.text)
    log_level: str = setting("info", parse.one_of("debug", "info", "warning", "error"))
    traces: bool = setting(False, parse.boolean)
    trusted_proxies: tuple[Network, ...] = setting((), parse.networks)
    # From where the pages for operators can be reached.
    operator_port: int | None = setting(None, parse.PORT)
    operator_allowed_addresses: tuple[Network, ...] = setting((), parse.networks)

    # What tokens are signed with and secrets are encrypted under: the same for every process. While it is being
    # changed, the one before it is still accepted.
    secret_key: str | None = setting(
        None, parse.drawn_secret(r"\S{32,}", "at least 32 characters without spaces", byte_count=32), secret=True
    )

    # It may be a weak one, because an operator who has used such a key must be able to change it.
    secret_key_previous: str | None = setting(
        None, parse.matching(r"\S{32,}", "at least 32 characters without spaces"), secret=True
    )

    metrics_token: str | None = setting(
        None, parse.drawn_secret(r"\S{16,}", "at least 16 characters without spaces", byte_count=20), secret=True
    )

    # PostgreSQL.
    database_url: str | None = setting(None, parse.database_url, secret=True)
    database_pool: int = setting(10, parse.whole(4, 1000))
    database_pool_people: int = setting(4, parse.whole(1, 1000))
    database_pool_customers: int = setting(2, parse.whole(1, 1000))
    database_people_seconds: int = setting(3, parse.whole(1, 300))
    database_patience_seconds: int = setting(10, parse.whole(1, 300))
    database_read_url: str | None = setting(None, parse.database_url, secret=True)
    database_read_lag_seconds: int = setting(2, parse.whole(1, 3600))
    ready_grace_seconds: int = setting(20, parse.whole(0, 300))

    # Where the session of an operator at the command line is kept.
    operator_session: Path | None = setting(None, parse.path)

    # Whether operators need a second factor on their pages, and above which amount a payout in the dashboard needs the
    # password (and the code) once more.
    operator_second_factor: str = setting("required", parse.one_of("required", "optional"))
    confirm_payout_amount: int = setting(1_000_000, parse.whole(0, 10**15))

    # The brand.
    reference_prefix: str = setting("MLP", parse.matching("[A-Z0-9]{1,8}", "1 to 8 capital letters or digits"))
    key_prefix: str = setting("mlp", parse.matching("[a-z0-9]{1,12}", "1 to 12 small letters or digits"))
    header_word: str = setting("Service", parse.matching("[A-Za-z0-9]{1,20}", "1 to 20 letters or digits"))

    # Who runs this installation, as invoices of fees and printed closes name it.
    company_name: str | None = setting(None, parse.text)
    company_address: str | None = setting(None, parse.text)
    company_tin: str | None = setting(None, parse.matching("[0-9]{9}", "nine digits"))
    company_vrn: str | None = setting(
        None, parse.matching("[0-9A-Z-]{6,30}", "6 to 30 capital letters, digits and dashes")
    )

    # Whether the pages say that the networks are simulated, and offer requests with one's own key from /docs.
    simulated: bool = setting(False, parse.boolean)
    docs_try_it: bool = setting(False, parse.boolean)

    # Limits.
    rate_limit_create: int = setting(100, parse.PER_MINUTE)
    rate_limit_list: int = setting(300, parse.PER_MINUTE)
    rate_limit_other: int = setting(200, parse.PER_MINUTE)
    rate_limit_session: int = setting(240, parse.PER_MINUTE)
    rate_limit_person: int = setting(480, parse.PER_MINUTE)
    connections_per_address: int = setting(256, parse.whole(0, 100_000))
    live_streams_person: int = setting(8, parse.whole(0, 1000))
    live_streams: int = setting(500, parse.whole(0, 100_000))
    recipient_lookups_daily: int = setting(1000, parse.whole(0, 1_000_000))
    max_amount_mpesa: int = setting(10_000_000, parse.AMOUNT)
    max_amount_tigo_pesa: int = setting(10_000_000, parse.AMOUNT)
    max_amount_airtel_money: int = setting(10_000_000, parse.AMOUNT)
    max_amount_halopesa: int = setting(10_000_000, parse.AMOUNT)
    booking_approval_amount: int = setting(1_000_000, parse.whole(0, 10**15))

    # Networks: when they are queried, and how long a payment may be without an answer.
    allow_http_networks: bool = setting(False, parse.boolean)
    simulator_port: int = setting(8081, parse.PORT)
    recipient_lookup_seconds: int = setting(5, parse.whole(1, 60))
    poll_seconds: tuple[int, ...] = setting((15, 30, 60, 120, 300, 900, 3600), parse.seconds_list)
    not_found_seconds: int = setting(300, parse.whole(0, 86_400))
    not_indexed_seconds: int = setting(1800, parse.whole(0, 86_400))
    not_indexed_answers: int = setting(6, parse.whole(1, 100))
    follow_up_seconds: tuple[int, ...] = setting((600, 3600, 21_600, 86_400, 259_200), parse.seconds_list)
    credit_by_itself: bool = setting(True, parse.boolean)
    lapse_seconds: int = setting(600, parse.whole(1, 86_400))
    payout_lapse_seconds: int = setting(3600, parse.whole(1, 864_000))
    unsettled_seconds: int = setting(3600, parse.whole(1, 864_000))
    worker_metrics_port: int | None = setting(None, parse.PORT)
    worker_metrics_host: str = setting("127.0.0.1", parse.text)
    worker_stop_seconds: int = setting(10, parse.whole(0, 600))

    # Webhooks.
    webhook_retry_seconds: tuple[int, ...] = setting((30, 300, 1800, 7200, 43200), parse.seconds_list)
    webhook_timeout_seconds: int = setting(10, parse.whole(1, 60))
    webhook_allow_private: bool = setting(False, parse.boolean)
    webhook_ports: tuple[int, ...] = setting((), parse.ports)
    events_keep_days: int = setting(90, parse.whole(1, 3650))

    # Messages by e-mail: through which server, from whom, in which language to people who have chosen none, and when a
    # message is tried again that the server has put off.
    smtp_url: mail.MailServer | None = setting(None, mail.mail_server, secret=True)
    mail_sender: mail.MailSender | None = setting(None, mail.mail_sender)
    mail_language: str = setting("en", parse.one_of("en", "sw"))
    mail_retry_seconds: tuple[int, ...] = setting((60, 300, 900, 1800, 3600), parse.seconds_list)

    # Receipts that prove themselves: whether there is a log, whether anybody may read it, and the name that it has.
    receipt_log: str = setting("off", parse.one_of("off", "private", "public"))
    receipt_log_name: str | None = setting(
        None,
        parse.matching(
            r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}", "an address without https://, such as pay.example.com/log"
        ),
    )

    # Payment links: how long a customer may answer a prompt. Afterwards, another number may be tried with a warning.
    link_prompt_seconds: int = setting(120, parse.whole(10, 3600))

    # Settlements: the fee of one, within its amount, how long a bank account waits after it was verified, and on which
    # days banks are closed besides weekends and public holidays.
    settlement_fee: int = setting(0, parse.whole(0, 1_000_000))
    bank_account_wait_hours: int = setting(72, parse.whole(0, 720))
    bank_holidays: tuple[date, ...] = setting((), parse.days)

    # Statements: whether workers fetch those of the day before, from networks that have an API for it.
    statement_fetch: bool = setting(False, parse.boolean)

    # Alarms: how often workers check the ledger and ask networks for balances, and below which a float is low.
    ledger_check_seconds: int = setting(3600, parse.whole(0, 604_800))
    float_reading_seconds: int = setting(300, parse.whole(0, 86_400))
    float_low: tuple[tuple[str, int], ...] = setting((), parse.channel_amounts)

    @property
    def secret_keys(self) -> tuple[str, ...]:
        """The key that signs and encrypts, then the one that is still accepted. None without a key."""
        return tuple(key for key in (self.secret_key, self.secret_key_previous) if key is not None)


def state_folder(settings: Settings) -> Path | None:
    """The folder of a worker's high-water mark; None if that is switched off."""
    if settings.state_dir == "none":
        return None
    return Path(settings.state_dir) if settings.state_dir is not None else settings.data_dir / "state"
