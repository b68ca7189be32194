"""The SQL of settlements, merchants' bank accounts, schedules, reports and releases."""
