"""Airtel Money, with statements by its API."""
