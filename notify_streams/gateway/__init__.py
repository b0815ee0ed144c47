"""The HTTP side: events in, status, explanations, inbox and preferences out."""
