"""How many examples hypothesis tries: a few in `make test`, many in `make test-thorough`."""

from hypothesis import HealthCheck, settings

# Of a test that asks for no number of its own.
FEW, MANY = 25, 400
USUAL = 100  # the scale of `examples`

# A busy machine is no fault of the code.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("few", max_examples=FEW, **PATIENT)
settings.register_profile("many", max_examples=MANY, **PATIENT)


def examples(count):
    """For a test that takes longer than others, or finds less: `count` where others have USUAL."""
    return settings(max_examples=max(10, count * settings().max_examples // USUAL))
