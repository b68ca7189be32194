"""Tigo Pesa (Mixx by Yas)."""
