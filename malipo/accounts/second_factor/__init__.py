"""The second factor of a log-in: codes of an authenticator app (TOTP), recovery codes, log-ins that wait for a code."""
