power_sources()
