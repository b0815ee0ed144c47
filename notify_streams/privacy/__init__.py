"""Users' content keys: kept wrapped, made once, destroyed by erasure."""
