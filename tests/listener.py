"""A listener of streams, who reads them as the standard says."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

_SILENT_MOST = 6  # comments, of which there is one every ten seconds


@dataclass(frozen=True)
class Event:
    """One event as it came; ``data`` is the text, ``id`` the last one that was sent with it."""

    name: str
    data: str
    id: str | None = None
    retry_ms: int | None = None

    def json(self) -> Any:
        return json.loads(self.data)


class Listening:
    """A stream that is open: its events in turn, and how many comments came between them."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.comments = 0
        self._lines = response.iter_lines()

    def __iter__(self) -> Iterator[Event]:
        fields: dict[str, str] = {}
        silent = 0
        for line in self._lines:
            name, _, value = line.partition(":")
            if line and not name:
                self.comments += 1
                silent += 1
                assert silent < _SILENT_MOST, "the stream is open and tells nothing"
            elif line:
                fields[name] = value.removeprefix(" ")
            elif "event" in fields:
                retry = fields.get("retry")
                yield Event(
                    fields["event"],
                    fields["data"],
                    fields.get("id"),
                    None if retry is None else int(retry),
                )
                fields = {}
                silent = 0

    def until(self, name: str) -> list[Event]:
        """The next events, up to the first of this name."""
        heard = []
        for event in self:
            heard.append(event)
            if event.name == name:
                return heard
        raise AssertionError(f"the stream ended without {name}: {heard}")


@contextmanager
def listening(
    client: httpx.Client, path: str, headers: Mapping[str, str] | None = None, **query: Any
) -> Iterator[Listening]:
    """Opens a stream, which must be let in."""
    with client.stream("GET", path, headers=headers, params=query) as response:
        if response.status_code != 200:
            response.read()
        assert response.status_code == 200, response.text
        yield Listening(response)


def lines(events: list[Event]) -> list[str]:
    """The log lines among events."""
    return [event.data for event in events if event.name == "entry"]
