"""A real local server that answers as told and keeps an exact log."""
