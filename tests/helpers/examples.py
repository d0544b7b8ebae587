"""How many examples hypothesis tries: a few in `make test`, many in `make test-thorough`."""

from hypothesis import HealthCheck, settings

# For tests that do not set a number.
FEW, MANY = 25, 400
USUAL = 100  # the scale of `examples`

# No time limit: a busy machine is not an error.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("few", max_examples=FEW, **PATIENT)
settings.register_profile("many", max_examples=MANY, **PATIENT)


def examples(count):
    """For a test that is slower or finds less than others: `count` instead of USUAL."""
    return settings(max_examples=max(10, count * settings().max_examples // USUAL))
