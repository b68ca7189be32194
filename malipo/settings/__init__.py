"""Everything an operator can set: one frozen object, read once from `MALIPO_…` and handed down.

Here they are declared. How they are read, and what becomes of a name we do not know, is in `environment.py`; how a
secret is read from a file in `secret_files.py`, and which settings a network needs in `network_requirements.py`.
`docs/settings.md` is kept in step with this file by a test.
"""

from dataclasses import dataclass
from pathlib import Path

from malipo.settings import parsers as parse
from malipo.settings.networks import (
    AirtelMoneySettings,
    ClickpesaSettings,
    HalopesaSettings,
    MpesaSettings,
    RouteSettings,
    TigoPesaSettings,
)
from malipo.settings.parsers import Network, setting


@dataclass(frozen=True, kw_only=True)
class Settings(
    MpesaSettings, AirtelMoneySettings, TigoPesaSettings, HalopesaSettings, ClickpesaSettings, RouteSettings
):
    # Where it listens, and where its files are.
    host: str = setting("127.0.0.1", parse.text)
    port: int = setting(8080, parse.PORT)
    data_dir: Path = setting(Path("var"), parse.path)
    state_dir: str | None = setting(None, parse.text)
    log_level: str = setting("info", parse.one_of("debug", "info", "warning", "error"))
    trusted_proxies: tuple[Network, ...] = setting((), parse.networks)

    # What tokens are signed with and secrets are encrypted under: the same for every process. While it is being
    # changed, the one before it is still accepted.
    secret_key: str | None = setting(
        None, parse.matching(r"\S{32,}", "at least 32 characters without spaces"), secret=True
    )

    secret_key_previous: str | None = setting(
        None, parse.matching(r"\S{32,}", "at least 32 characters without spaces"), secret=True
    )

    metrics_token: str | None = setting(
        None, parse.matching(r"\S{16,}", "at least 16 characters without spaces"), secret=True
    )

    # PostgreSQL.
    database_url: str | None = setting(None, parse.database_url, secret=True)
    database_pool: int = setting(10, parse.whole(4, 1000))
    database_patience_seconds: int = setting(10, parse.whole(1, 300))

    # Who acts on the command line.
    operator: str | None = setting(None, parse.matching(r"[^\s]{1,100}", "an operator's name"))

    # The brand.
    reference_prefix: str = setting("MLP", parse.matching("[A-Z0-9]{1,8}", "1 to 8 capital letters or digits"))
    key_prefix: str = setting("mlp", parse.matching("[a-z0-9]{1,12}", "1 to 12 small letters or digits"))
    header_word: str = setting("Service", parse.matching("[A-Za-z0-9]{1,20}", "1 to 20 letters or digits"))

    # Limits.
    rate_limit_create: int = setting(100, parse.PER_MINUTE)
    rate_limit_list: int = setting(300, parse.PER_MINUTE)
    rate_limit_other: int = setting(200, parse.PER_MINUTE)
    max_amount_mpesa: int = setting(10_000_000, parse.AMOUNT)
    max_amount_tigo_pesa: int = setting(10_000_000, parse.AMOUNT)
    max_amount_airtel_money: int = setting(10_000_000, parse.AMOUNT)
    max_amount_halopesa: int = setting(10_000_000, parse.AMOUNT)
    booking_approval_amount: int = setting(1_000_000, parse.whole(0, 10**15))

    # Networks: when they are queried, and how long a payment may be without an answer.
    simulator_port: int = setting(8081, parse.PORT)
    poll_seconds: tuple[int, ...] = setting((15, 30, 60, 120, 300, 900, 3600), parse.seconds_list)
    not_found_seconds: int = setting(300, parse.whole(0, 86_400))
    not_indexed_seconds: int = setting(1800, parse.whole(0, 86_400))
    not_indexed_answers: int = setting(6, parse.whole(1, 100))
    follow_up_seconds: tuple[int, ...] = setting((600, 3600, 21_600, 86_400, 259_200), parse.seconds_list)
    credit_by_itself: bool = setting(True, parse.boolean)
    lapse_seconds: int = setting(600, parse.whole(1, 86_400))
    unsettled_seconds: int = setting(3600, parse.whole(1, 864_000))
    worker_metrics_port: int | None = setting(None, parse.PORT)
    worker_stop_seconds: int = setting(10, parse.whole(0, 600))

    # Webhooks.
    webhook_retry_seconds: tuple[int, ...] = setting((30, 300, 1800, 7200, 43200), parse.seconds_list)
    webhook_timeout_seconds: int = setting(10, parse.whole(1, 60))
    webhook_allow_private: bool = setting(False, parse.boolean)
    webhook_ports: tuple[int, ...] = setting((), parse.ports)
    events_keep_days: int = setting(90, parse.whole(1, 3650))


def state_folder(settings: Settings) -> Path | None:
    """The folder of a worker's high-water mark; None if that is switched off."""
    if settings.state_dir == "none":
        return None
    return Path(settings.state_dir) if settings.state_dir is not None else settings.data_dir / "state"
