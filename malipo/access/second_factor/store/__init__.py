"""The SQL of second factors, of log-ins that wait for a code, and of trusted browsers."""
