"""The audit trail: who did what, when and from where."""
