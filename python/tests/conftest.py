"""What all tests share."""

from hypothesis import HealthCheck, settings

# A machine that is busy with something else is no failure of ours; pytest's own limit ends what hangs.
settings.register_profile("inrush", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("inrush")
