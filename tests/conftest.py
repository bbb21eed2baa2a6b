"""What all tests share: the fixtures Tailrace ships to its users, and how Hypothesis is run."""

from hypothesis import settings

pytest_plugins = ["tailrace.testing.fixtures"]

# No deadline: the machine's load is no property of the code.
settings.register_profile("tailrace", deadline=None, print_blob=True)
# `make properties` asks for this one.
settings.register_profile("nightly", settings.get_profile("tailrace"), max_examples=1000)
settings.load_profile("tailrace")
