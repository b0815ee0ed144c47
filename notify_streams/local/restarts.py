"""When a program that ended is started again: a pure policy."""

from dataclasses import dataclass

TEMPORARY = 75  # sysexits.h, EX_TEMPFAIL: the program itself says that another try may do
_BASE_S = 0.5
_CAP_S = 30.0
_STEADY_S = 60.0


@dataclass(frozen=True)
class Restarts:
    """How often in a row it ended soon after its start."""

    in_a_row: int = 0

    def after(self, *, exit_code: int, ran_for: float) -> tuple["Restarts", float]:
        """What to remember, and the seconds to wait. A run of a minute clears the past."""
        row = 1 if ran_for >= _STEADY_S else self.in_a_row + 1
        if exit_code == TEMPORARY and row == 1:
            return Restarts(row), 0.0
        return Restarts(row), min(_CAP_S, _BASE_S * 2.0 ** min(row - 1, 10))
