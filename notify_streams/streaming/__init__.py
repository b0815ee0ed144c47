"""Faust made safe: transport, batches, settling, restore, topics, health."""
