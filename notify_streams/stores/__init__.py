"""Sessions to the databases, as coroutines."""
