"""Restored databases: how they are detected, and the installation's state: its epoch, its fence and its holds."""
