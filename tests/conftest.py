"""Settings of all tests."""

from hypothesis import settings

# The same examples in every run: a failure then belongs to a change, and can be repeated.
settings.register_profile("fixed", derandomize=True, deadline=None)  # nor does a busy machine fail
settings.load_profile("fixed")
