"""A made-up search log whose best possible next-query scores are known.

Pure standard library. `Process` is the law of the sessions, `LogWriter` writes logs from it,
`Yardstick` tells how well any predictor can do with the whole session and with the last query only.
"""

from .process import Process
from .session_text import read_pairs
from .writer import LogWriter
from .yardstick import Best, Rates, Yardstick

__all__ = ["Best", "LogWriter", "Process", "Rates", "Yardstick", "read_pairs"]
