"""The health of a process: what `/readyz` and the metrics report about its database, its clock and its proxies."""

from dataclasses import dataclass

from malipo.db.database_clock import ClockSkew
from malipo.db.readiness import ReadinessCheck
from malipo.http.client_address import UntrustedProxies
from malipo.restore.installation_monitor import InstallationMonitor


@dataclass(frozen=True)
class Health:
    monitor: InstallationMonitor
    readiness: ReadinessCheck
    clock_skew: ClockSkew
    untrusted_proxies: UntrustedProxies
