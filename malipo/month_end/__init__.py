"""The end of a month: what is open or missing, and the archive that accountants and auditors get."""
