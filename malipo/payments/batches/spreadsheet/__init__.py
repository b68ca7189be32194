"""Spreadsheets of payouts: a CSV or XLSX file becomes lines, each with what is wrong with it and what was repaired."""
