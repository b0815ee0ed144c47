"""A multi-channel notification system as a stream-processing topology on Faust."""

__version__ = "0.1.0"
