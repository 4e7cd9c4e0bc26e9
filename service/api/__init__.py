"""The HTTP API: routes by resource over the croupier's use cases."""
