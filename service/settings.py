"""The settings of a server, from ``CUBILETE_*`` variables. Read only by the entry points."""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from service.errors import BadSetting

_PREFIX = "CUBILETE_"
# What Kubernetes tells of services whose names begin like this one, and what tests ask for.
_LINK = re.compile(
    r"CUBILETE_((.+_)?SERVICE_(HOST|PORT)|(.+_)?PORT_[0-9]+_(TCP|UDP)|.+_PORT$|TESTS_)"
)
_HOST = re.compile(r"(\*\.)?[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_Rate = Annotated[int, Field(ge=0, le=10_000_000)]


class Settings(BaseSettings):
    """Everything that can be set from outside; each field is also ``CUBILETE_<FIELD>``."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    """The address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """The port to listen on; 0 picks a free one."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """How many processes serve; more than one needs PostgreSQL."""
    data_dir: Path = Path("data")
    """Where the embedded database, the keys and the head file live."""
    database_url: str | None = None
    """``sqlite:///path`` or ``postgresql://..``; the embedded file in ``data_dir`` if unset."""
    server_key: SecretStr | None = None
    """64 hex digits; if unset, kept in ``data_dir/server.key``, made on the first start."""
    require_idempotency_key: bool = False
    """Refuse a change without an ``Idempotency-Key``."""
    require_version: bool = False
    """Refuse an action without ``If-Match`` or ``expected_version``."""
    queue_limit: Annotated[int, Field(ge=1, le=100_000)] = 2048
    """Changes that may wait for the database before further ones are answered 503."""
    bell: str = "database"
    """How processes that share a PostgreSQL wake each other: ``database`` (its NOTIFY), ``poll``
    (not at all), or ``redis://..``."""
    stream_limit: Annotated[int, Field(ge=1, le=100_000)] = 5000
    """Streams and long polls that one process holds open before further ones are answered 503."""
    drain_seconds: Annotated[float, Field(ge=0, le=300)] = 0
    """Seconds from a SIGTERM, when readiness ends, to the moment when nobody is let in any more."""
    sync_heads: bool = True
    """Wait for the head file's disk before an answer leaves."""
    reveal_seconds: Annotated[int, Field(ge=5, le=604_800)] = 600
    """How long the seats of a sealed roster have to reveal their seeds."""
    sweep_seconds: Annotated[int, Field(ge=1, le=3600)] = 1
    """How often each process looks for games that are due."""
    waiting_days: Annotated[int, Field(ge=1, le=36_500)] = 7
    """A game that waits for its start is void after so many days without activity."""
    idle_days: Annotated[int, Field(ge=1, le=36_500)] = 30
    """A game without a clock is abandoned after so many days without an action."""
    answer_days: Annotated[int, Field(ge=1, le=36_500)] = 30
    """Answers are kept for retries while their game goes on, and so many days longer."""
    retention_days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    """Games are exported and deleted so many days after their end; kept for ever if unset."""
    export_dir: Path | None = None
    """Where the records of deleted games are written; ``exported`` in ``data_dir`` if unset."""
    log_level: Literal["critical", "error", "warning", "info", "debug"] = "info"
    access_log: bool = False
    """Write one line for each request, without queries and headers."""
    telemetry: bool = False
    """Export traces and metrics as the ``OTEL_*`` variables say; needs the extra ``telemetry``."""

    receive_timeout_s: Annotated[float, Field(gt=0, le=60)] = 10
    """Seconds in which a request must have come whole; long uploads get more while they move."""
    send_timeout_s: Annotated[float, Field(gt=0, le=600)] = 30
    """Seconds that an answer may wait for a caller who does not read on."""
    connection_limit: Annotated[int, Field(ge=1, le=1_000_000)] = 8192
    """Connections of one process; further ones are answered 503."""
    connections_per_address: Annotated[int, Field(ge=1, le=1_000_000)] = 512
    """Connections of one process from one address, unless it is a trusted proxy."""
    trusted_proxies: str = ""
    """Addresses and networks, with commas, whose ``X-Forwarded-For`` is believed."""
    allowed_hosts: str = ""
    """Host names that are served, with commas; ``*.name`` for all below it; any if unset."""
    cors_origins: str = ""
    """Origins, with commas, whose pages may call the API; ``*`` for any; none if unset."""
    cors_credentials: bool = False
    """Let those pages send credentials that a proxy in front may ask for."""
    rate_create: _Rate = 120
    """Games that one address may create in a minute, rematches included; 0 for any number."""
    rate_join: _Rate = 240
    """Joins a minute and address."""
    rate_actions: _Rate = 30_000
    """Actions and other changes a minute and address."""
    rate_token: _Rate = 3_000
    """Actions and other changes a minute and token."""
    rate_audits: _Rate = 30
    """Uploaded records a minute and address."""
    rate_reads: _Rate = 12_000
    """Reads a minute and address."""
    rate_failed_tokens: _Rate = 120
    """Answers 401 a minute and address, after which tokens from there have to wait."""
    waiting_games: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    """Games of one address that may wait for their start; 0 for any number."""
    audit_seconds: Annotated[float, Field(gt=0, le=600)] = 20
    """The most that examining one uploaded record may take."""

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("sqlite:///", "postgresql://")):
            raise ValueError("must be sqlite:///path or postgresql://user@host/name")
        return url

    @field_validator("bell")
    @classmethod
    def _known_bell(cls, bell: str) -> str:
        if bell not in ("database", "poll") and not bell.startswith(("redis://", "rediss://")):
            raise ValueError("must be database, poll or redis://host:port/number")
        return bell

    @field_validator("server_key")
    @classmethod
    def _hex_key(cls, key: SecretStr | None) -> SecretStr | None:
        digits = None if key is None else key.get_secret_value()
        if digits is not None and (len(digits) != 64 or set(digits) - set("0123456789abcdef")):
            raise ValueError("must be 64 lowercase hex digits")
        return key

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, text: str) -> str:
        try:
            _listed_networks(text)
        except ValueError:
            raise ValueError("must be addresses and networks, with commas") from None
        return text

    @field_validator("allowed_hosts")
    @classmethod
    def _host_names(cls, text: str) -> str:
        if not all(_HOST.fullmatch(one) for one in _listed(text)):
            raise ValueError("must be host names without a port, with commas")
        return text

    @field_validator("cors_origins")
    @classmethod
    def _known_origins(cls, text: str) -> str:
        if not all(one == "*" or _ORIGIN.fullmatch(one) for one in _listed(text)):
            raise ValueError("must be origins such as https://example.org, with commas")
        return text

    @field_validator("cors_credentials")
    @classmethod
    def _for_named_origins(cls, wanted: bool, info: ValidationInfo) -> bool:
        if wanted and "*" in _listed(info.data.get("cors_origins", "")):
            raise ValueError("needs CUBILETE_CORS_ORIGINS to name each origin")
        return wanted

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The trusted proxies as networks."""
        return _listed_networks(self.trusted_proxies)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that are served; none mean any."""
        return _listed(self.allowed_hosts)

    @property
    def origins(self) -> frozenset[str]:
        """The origins whose pages may call the API."""
        return frozenset(_listed(self.cors_origins))

    @property
    def database(self) -> str:
        """The database's URL, the embedded file's if none is set."""
        return self.database_url or f"sqlite:///{quote(str(self.data_dir / 'cubilete.db'))}"

    @property
    def database_file(self) -> Path | None:
        """The file of the embedded database, if it is one."""
        path = self.database.partition("?")[0].removeprefix("sqlite:///")
        return Path(unquote(path)) if self.database.startswith("sqlite:") else None

    @property
    def exports(self) -> Path:
        """Where the records of deleted games are written."""
        return self.export_dir or self.data_dir / "exported"


def unknown(variables: Iterable[str]) -> Iterator[str]:
    """One line for each of these variables that looks like a setting and is none."""
    known = {_PREFIX + name.upper() for name in Settings.model_fields}
    for name in sorted({variable.upper() for variable in variables}):
        if name.startswith(_PREFIX) and name not in known and not _LINK.match(name):
            meant = get_close_matches(name, known, 1, cutoff=0.85)
            yield f"{name}: no such setting{f' ({meant[0]}?)' if meant else ''}, passed over"


def _listed(text: str) -> tuple[str, ...]:
    return tuple(one.strip().lower() for one in text.split(",") if one.strip())


def _listed_networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(one) for one in _listed(text))


def read(**given: Any) -> Settings:
    """The settings, options of the command line before variables.

    Raises BadSetting with one line that names the setting and what is wrong with it, never its
    value.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = _PREFIX + str(first["loc"][0]).upper()
        raise BadSetting(f"{name}: {first['msg'].removeprefix('Value error, ')}") from None
