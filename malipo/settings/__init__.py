"""Settings: what an operator can set. They are declared in `settings.py`, those of networks in `networks.py`."""

from malipo.settings.settings import Settings, state_folder

__all__ = ["Settings", "state_folder"]
