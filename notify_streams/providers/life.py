"""How long a message still has."""


def remaining_s(expires_at: int, now: int) -> int:
    """Whole seconds from `now` until `expires_at` (both ms), at least 1: what is over is not sent at all."""
    return max(1, (expires_at - now) // 1000)
