"""The settings of a server, from ``CUBILETE_*`` variables. Read only by the entry points."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from service.errors import BadSetting

_PREFIX = "CUBILETE_"


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
    sync_heads: bool = True
    """Wait for the head file's disk before an answer leaves."""
    log_level: Literal["critical", "error", "warning", "info", "debug"] = "info"

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("sqlite:///", "postgresql://")):
            raise ValueError("must be sqlite:///path or postgresql://user@host/name")
        return url

    @field_validator("server_key")
    @classmethod
    def _hex_key(cls, key: SecretStr | None) -> SecretStr | None:
        digits = None if key is None else key.get_secret_value()
        if digits is not None and (len(digits) != 64 or set(digits) - set("0123456789abcdef")):
            raise ValueError("must be 64 lowercase hex digits")
        return key

    @property
    def database(self) -> str:
        """The database's URL, the embedded file's if none is set."""
        return self.database_url or f"sqlite:///{self.data_dir / 'cubilete.db'}"


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
