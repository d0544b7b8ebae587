"""Suggestions in the search field of a browser: the OpenSearch formats.

A browser requests /opensearch?q=… at each key, and gets `["what was typed", ["…", "…"]]`.
"""

from typing import Optional, Sequence
from xml.sax.saxutils import quoteattr

SUGGESTIONS_TYPE = "application/x-suggestions+json"
DESCRIPTION_TYPE = "application/opensearchdescription+xml"


def description(base_url: str, search_url: Optional[str]) -> str:
    """The file that lets a browser add the site's search.

    Args:
        base_url: URL of this service, with a slash at the end
        search_url: URL of the site's own search, with {searchTerms}; None for the service's page
    """
    search = search_url or f"{base_url}?q={{searchTerms}}"
    suggest = f"{base_url}opensearch?q={{searchTerms}}"
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
  <ShortName>Search</ShortName>
  <Description>Search with suggestions</Description>
  <InputEncoding>UTF-8</InputEncoding>
  <Url type="text/html" template={quoteattr(search)}/>
  <Url type="{SUGGESTIONS_TYPE}" template={quoteattr(suggest)}/>
</OpenSearchDescription>
"""


def suggestions(typed: str, texts: Sequence[str]) -> list:
    return [typed, list(texts)]
