"""What runs on this machine: the real engines and the programs, as child processes."""
