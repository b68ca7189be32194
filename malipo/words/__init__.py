"""The sentences of what rooms refuse and find wrong, by code, in English. Pages translate them; the terminal adds the
command that helps."""
