"""The installation: its epoch, fence and holds, the secret of its network keys, and how a restore is detected."""
