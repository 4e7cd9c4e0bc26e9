"""How the events of a stream are written: as server-sent events or as lines of JSON."""

from typing import Protocol


class Form(Protocol):
    """A way of writing events. ``comment`` says that the stream lives, and nothing else."""

    media_type: str
    comment: bytes

    def event(
        self, name: str, data: bytes, id: str | None = None, retry_ms: int | None = None
    ) -> bytes:
        """One event. ``data`` is JSON in one line; ``id`` is what a reader resumes from, and
        ``retry_ms`` how long it waits before it comes back."""


class ServerSentEvents:
    """``text/event-stream``, as the HTML standard has it."""

    media_type = "text/event-stream"
    comment = b":\n\n"

    def event(
        self, name: str, data: bytes, id: str | None = None, retry_ms: int | None = None
    ) -> bytes:
        """One event, as fields and an empty line."""
        fields = "" if id is None else f"id: {id}\n"
        fields += "" if retry_ms is None else f"retry: {retry_ms}\n"
        return b"%bevent: %b\ndata: %b\n\n" % (fields.encode(), name.encode(), data)


class JsonLines:
    """``application/x-ndjson``: an object a line, and an empty line as comment."""

    media_type = "application/x-ndjson"
    comment = b"\n"

    def event(
        self, name: str, data: bytes, id: str | None = None, retry_ms: int | None = None
    ) -> bytes:
        """One event, as an object."""
        fields = "" if id is None else f'"id":"{id}",'
        fields += "" if retry_ms is None else f'"retry_ms":{retry_ms},'
        return b'{%b"event":"%b","data":%b}\n' % (fields.encode(), name.encode(), data)
