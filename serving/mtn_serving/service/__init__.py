"""Serve a bundle over HTTP. No torch, no fairseq.

settings      the settings and their defaults
schemas       requests and answers, documented and validated
app           the routes
service       the state that the routes share
answering     answers a request: cache, batch, deadline, fallback
batching      batches requests that arrive together; the queue is bounded
bundles       the served bundles, and loading new versions
held_files    detects writes to served files
split         decides which sessions the challenger gets
events        records what was shown, chosen and asked, in files
event_names   names of event files and ids of lists
click_rates   click-through rates of the bundles, with intervals
metrics       counters and histograms for Prometheus
limits        limits of request bodies, response headers, unexpected errors
errors        logs internal errors
access        API key, admin routes
opensearch    suggestions in the search field of a browser
api_page      the OpenAPI document as a page without scripts
workers       worker processes that share one socket
"""
