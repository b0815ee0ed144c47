"""Who carries messages: one folder per provider, and a simulator that speaks their protocols."""
