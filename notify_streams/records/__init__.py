"""Facts about notifications: kept, found again, told in words, and counted against the events."""
