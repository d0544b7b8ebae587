"""A bundle behind a search box: HTTP in, lists out. No torch, no fairseq.

settings      what can be set, with the defaults
schemas       requests and answers, as they are documented and checked
app           routes
service       what the routes share
answering     from a request to its list: cache, batch, deadline, fallback
batching      requests that arrive together run together; the queue is bounded
bundles       the bundles that are served, and how a new version is taken up
held_files    notices that somebody writes into what is served
split         which sessions the challenger gets
events        what was shown, chosen and asked, in files
event_names   how their files and the ids of lists are named
click_rates   click-through rates of the bundles, with intervals
metrics       counters and histograms for Prometheus
limits        size and time of request bodies, the last line of defence, headers
errors        what the log has of our own errors
access        API key, admin routes
opensearch    suggestions in the search field of a browser
api_page      the OpenAPI document as a page without scripts
workers       worker processes that share one socket
"""
