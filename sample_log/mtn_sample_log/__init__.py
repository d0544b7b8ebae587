"""A synthetic search log, whose best possible next-query scores are known exactly.

    topics, query, world   what people search for, and the queries that say so
    behaviour, process     the law of a session: what is asked next, and how often
    writer                 logs drawn from that law, in AOL's format
    session_text           prepared text, read back
    yardstick              the best possible scores, with the whole session or the last query only
    cli                    mtn-sample-log

Standard library only.
"""

from .process import Process
from .session_text import read_pairs
from .writer import LogWriter
from .yardstick import Best, Rates, Yardstick

__all__ = ["Best", "LogWriter", "Process", "Rates", "Yardstick", "read_pairs"]
