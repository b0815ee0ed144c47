"""What all tests share."""

from hypothesis import settings

pytest_plugins = ["tests.engines"]
# No deadline: how long an example takes says more about what else the machine does than about the code.
settings.register_profile("notify", deadline=None)
settings.load_profile("notify")
