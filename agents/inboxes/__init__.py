"""The parts of the inbox role."""
