"""How a command ends, for scripts."""

from __future__ import annotations

REFUSED, WRONG, UNKNOWN, INTERRUPTED = 1, 2, 3, 130

HELP = f"""\
exit codes:
  0    done; the payment that was waited for is COMPLETED
  {REFUSED}    refused; or the payment has FAILED or was CANCELLED
  {WRONG}    asked for wrongly, or not confirmed: nothing was sent
  {UNKNOWN}    not known, or not now: the same command again, with the
       --idempotency-key that it names, is safe
  {INTERRUPTED}  interrupted
"""
