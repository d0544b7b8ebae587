"""The state that the routes share: bundles, lanes, events and metrics of one process."""

import asyncio
import gc
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Optional

from mtn_preprocess.errors import InputError

from .answering import Answering
from .bundles import Bundles, load_bundles
from .errors import LOG
from .events import Events
from .metrics import Metrics
from .settings import SUPERVISOR, Settings

_ALLOCATIONS = 10_000  # without as many releases, after which Python looks for unused cycles


class Service:
    """Raises InputError if the bundles cannot be served."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.bundles: Bundles = load_bundles(settings)
        self.metrics.serve(self.bundles.served.values())
        self.answering = Answering(settings, self.metrics)
        self.events: Optional[Events] = None
        if settings.events is not None:
            self.events = Events(settings.events, settings.keep_days, self.metrics)
        self.ending = False
        _keep_out_of_collections()
        self._loader = ThreadPoolExecutor(1)  # one reload at a time, in the order of arrival

    async def reload(self, tell_others: bool = False) -> Optional[str]:
        """Load the bundles again, while requests are answered.

        Args:
            tell_others: whether the other workers reload, too, after success

        Returns:
            why the bundles are refused, in which case the old ones stay; None after success
        """
        loop = asyncio.get_running_loop()
        try:
            bundles = await loop.run_in_executor(self._loader, load_bundles, self.settings)
        except Exception as error:
            self.metrics.reloads.labels("refused").inc()
            reason = str(error) if isinstance(error, InputError) else type(error).__name__
            LOG.error("reload refused: %s", reason)
            return reason
        self.bundles = bundles
        _keep_out_of_collections()
        self.metrics.serve(bundles.served.values())
        self.metrics.reloads.labels("done").inc()
        LOG.warning("reloaded: serving %s", bundles)
        if tell_others and SUPERVISOR in os.environ:
            os.kill(int(os.environ[SUPERVISOR]), signal.SIGHUP)
        return None

    async def close(self) -> None:
        """Close, after all accepted requests are answered."""
        self.ending = True
        await self.answering.close()
        if self.events is not None:
            await self.events.close()
        self._loader.shutdown(wait=False)


def _keep_out_of_collections() -> None:
    """Exclude loaded bundles from garbage collection, which would delay requests by 20 ms. Lists
    leave no cycles, so collections are rare, too."""
    gc.unfreeze()  # so that an earlier version can be freed
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)
