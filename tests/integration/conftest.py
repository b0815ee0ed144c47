"""What the tests on real engines share."""

from tests.workers import broker

__all__ = ["broker"]
