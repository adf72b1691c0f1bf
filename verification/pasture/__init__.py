"""The Pasture Model beside the original program, field observations and an independent reference (shared data, `weather/reference`)."""
