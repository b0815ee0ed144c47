"""`python -m notify_streams` is `notify`."""

from notify_streams.cli import main

main()
