"""The log read again: what is in it, what of that has no effect yet, and what is published of it once more."""
