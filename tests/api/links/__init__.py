"""Tests of /v1/links."""
