"""Log internal errors: type and place, never text of users."""

import logging
import traceback
from typing import Optional

from .metrics import Metrics

LOG = logging.getLogger("mtn_serving.service")


def log_error(error: BaseException, metrics: Optional[Metrics] = None) -> None:
    """Log the type and the traceback; not the message, which may quote a query. The reason that the
    operating system gives quotes nothing."""
    if metrics is not None:
        metrics.errors.labels(type(error).__name__).inc()
    frames = traceback.extract_tb(error.__traceback__)
    places = " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-5:])
    reason = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    LOG.error("%s%s at %s", type(error).__name__, reason, places)
