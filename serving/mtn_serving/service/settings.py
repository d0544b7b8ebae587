"""The settings and their defaults."""

from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Tuple

# Environment of worker processes: the supervisor's process id, and the folder of shared metrics.
SUPERVISOR = "MTN_SERVE_SUPERVISOR"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


@dataclass(frozen=True)
class Settings:
    """The settings of one service.

    Args:
        bundle: folder of the served bundle, the champion
        challenger: another bundle, for some sessions
        share: share of sessions for the challenger, from 0 to 1
        block_list: a file; nothing with these words is shown, in any bundle
        unrelated: whether ranked lists end with suggestions unrelated to the session
        max_batch: maximum number of requests per batch
        max_queue: maximum number of waiting requests; further ones get 503
        deadline: seconds within which a list is sent
        cached: number of cached lists per bundle; 0 for none
        max_body: bytes
        body_seconds: seconds within which a request body must arrive
        api_key: required of each request for suggestions
        origins: other sites whose pages may send requests
        search_url: URL of the site's own search, with {searchTerms}; None for the service's page
        events: folder for events; None to record none
        keep_days: number of days after which event files are deleted
    """

    bundle: Path
    challenger: Optional[Path] = None
    share: float = 0.5
    block_list: Optional[Path] = None
    unrelated: bool = False
    max_batch: int = 32
    max_queue: int = 256
    deadline: float = 0.5
    cached: int = 4096
    max_body: int = 256 * 1024
    body_seconds: float = 10.0
    api_key: Optional[str] = None
    origins: Tuple[str, ...] = ()
    search_url: Optional[str] = None
    events: Optional[Path] = None
    keep_days: int = 30
