"""The files in which accountants get the journal."""
