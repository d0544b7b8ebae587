"""Counters and histograms for Prometheus, without text of users or ids."""

import os
from typing import Iterable, List

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from .batching import Watch
from .bundles import ServedBundle
from .settings import METRICS_FOLDER

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "mtn_requests", "Answers by route and status", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "mtn_stage_seconds",
            "Time per request: queue, batch (of the whole batch), total",
            ["lane", "stage"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.batch_size = Histogram(
            "mtn_batch_size", "Requests per batch", ["lane"], buckets=_SIZES, registry=registry
        )
        self.queue = Gauge(
            "mtn_queue_length",
            "Requests that wait",
            ["lane"],
            multiprocess_mode="livesum",
            registry=registry,
        )
        self.refused = Counter(
            "mtn_refused", "Requests answered 503", ["reason"], registry=registry
        )
        self.cache = Counter("mtn_cache", "Answers from the cache", ["result"], registry=registry)
        self.fallbacks = Counter(
            "mtn_fallbacks", "Lists from counts alone", ["reason"], registry=registry
        )
        self.errors = Counter(
            "mtn_errors", "Errors of our own, by type", ["type"], registry=registry
        )
        self.events = Counter("mtn_events", "Events by result", ["result"], registry=registry)
        self.reloads = Counter("mtn_reloads", "Reloads by result", ["result"], registry=registry)
        self.bundle = Gauge(
            "mtn_bundle_info",
            "1 for each bundle that is served now",
            ["name", "version"],
            multiprocess_mode="livemax",
            registry=registry,
        )
        self._served: List[Gauge] = []

    def watch(self, lane: str) -> Watch:
        """The callbacks of a lane."""
        queue, batch = (self.seconds.labels(lane, stage) for stage in ("queue", "batch"))
        size, length = self.batch_size.labels(lane), self.queue.labels(lane)

        def ran(seconds: float, requests: int) -> None:
            batch.observe(seconds)
            size.observe(requests)

        return Watch(queue.observe, ran, length.set)

    def serve(self, bundles: Iterable[ServedBundle]) -> None:
        """Set the bundles that are served from now on."""
        for gauge in self._served:  # other processes read the old labels, so set them to 0
            gauge.set(0)
        self._served = [self.bundle.labels(each.arm, each.version) for each in bundles]
        for gauge in self._served:
            gauge.set(1)

    def text(self) -> bytes:
        """The metrics of all worker processes together."""
        if METRICS_FOLDER not in os.environ:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)
        return generate_latest(together)
