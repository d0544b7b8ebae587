"""A synthetic search log for which the best possible next-query scores are known exactly.

    topics, query, world   topics, abstract queries, and the words for both
    behaviour, process     the probability law of a session: which query follows, how often
    writer                 writes logs drawn from that law, in AOL's format
    session_text           reads prepared text
    best_possible          the best possible scores, from the whole session or the last query only
    cli                    mtn-sample-log

Standard library only.
"""

from .best_possible import Best, BestPossible, Rates
from .process import Process
from .session_text import read_pairs
from .writer import LogWriter

__all__ = ["Best", "BestPossible", "LogWriter", "Process", "Rates", "read_pairs"]
