"""Providers' callbacks: one module per vendor that checks and reads, and what then goes to the log."""
