"""Optional dependencies. Code that needs an extra calls `require_extra` before it imports the extra's packages."""

from __future__ import annotations

from importlib.util import find_spec

from recollect.errors import MissingExtra, describe_missing_extra

# The modules that are imported unconditionally. pyproject.toml has the versions.
MODULES = {
    "ask": ("sqlalchemy", "sqlglot"),
    "charts": ("vl_convert",),
    "cli": ("typer", "rich"),
    "server": ("fastapi", "uvicorn", "httptools", "jinja2", "prometheus_client", "pygments", "multipart"),
}


def require_extra(extra: str, feature: str) -> None:
    """Raise MissingExtra, which names the extra, if one of its modules is not installed."""
    missing = [module for module in MODULES[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtra(describe_missing_extra(feature, extra, missing))
