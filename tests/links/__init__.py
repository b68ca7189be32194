"""Tests of payment links."""
