"""A synthetic search log, whose best possible next-query scores are known exactly.

    topics, query, world   what people search for, and the queries that say so
    behaviour, process     the law of a session: what is asked next, and how often
    writer                 logs drawn from that law, in AOL's format
    session_text           prepared text, read back
    best_possible            the best possible scores, with the whole session or the last query only
    cli                    mtn-sample-log

Standard library only.
"""

from .best_possible import Best, BestPossible, Rates
from .process import Process
from .session_text import read_pairs
from .writer import LogWriter

__all__ = ["Best", "BestPossible", "LogWriter", "Process", "Rates", "read_pairs"]
