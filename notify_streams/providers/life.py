"""How long a push service is to keep a message."""

# FCM refuses more ("the maximum time to live supported is 4 weeks"), also as the push service of Chrome.
LONGEST_S = 28 * 86_400


def remaining_s(expires_at: int, now: int) -> int:
    """Whole seconds from `now` until `expires_at` (both ms), from 1 to four weeks of them."""
    return min(max(1, (expires_at - now) // 1000), LONGEST_S)
