"""Cubilete: a dice-game server whose every throw can be checked."""

__version__ = "0.1.0"
