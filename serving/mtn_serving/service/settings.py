"""What can be set, with the defaults."""

from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Tuple

# Environment of worker processes: who started them, and where they put their figures together.
SUPERVISOR = "MTN_SERVE_SUPERVISOR"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


@dataclass(frozen=True)
class Settings:
    """One service.

    Args:
        bundle: the folder that is served: the champion
        challenger: another bundle, for some of the sessions
        share: of the sessions that the challenger gets, from 0 to 1
        block_list: a file: nothing with these words is shown, whatever the bundle says
        max_batch: requests that run together
        max_queue: requests that wait; one more is answered 503
        deadline: seconds within which a list is sent
        cached: lists that are kept per bundle; 0 for none
        max_body: bytes
        body_seconds: within which a request body must have arrived
        api_key: that each request for suggestions must have
        origins: of other sites whose pages may ask
        search_url: of the site's own search, with {searchTerms}; None for the page of the service
        events: the folder for events; None for keeping none
        keep_days: after which files of events are deleted
    """

    bundle: Path
    challenger: Optional[Path] = None
    share: float = 0.5
    block_list: Optional[Path] = None
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
