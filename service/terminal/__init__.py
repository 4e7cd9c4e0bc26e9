"""``cubilete play``: a hot seat at the terminal, over the same engine that the server runs."""

from service.terminal.session import Wanted, play

__all__ = ["Wanted", "play"]
