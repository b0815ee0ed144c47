"""Inbox items and headers: one writer, newest first."""
