"""Catalogue and templates: what the types are, and what a recipient reads."""
