"""Wire types: what travels on topics and rests in tables, and the vocabulary of the domain."""
