"""Webhooks, signed as Standard Webhooks says."""
