"""Count how many people typed each form of a query, to choose the form that is shown.

Forms with personal data are kept however few people typed them: normalised text has lost the signs
of an address, and only the form tells `mtn-count-next` not to use its words for other text.
"""

from typing import Iterator, List, Tuple

import numpy as np
import pyarrow as pa

from mtn_preprocess.text.personal_data import has_personal_data
from mtn_preprocess.text.typed_queries import QueryReader

MIN_USERS = 2  # a form typed by one person is not shown to others

_MAX_ROWS = 1 << 21  # rows waiting to be summed


class FormCounts:
    """Counts users per query and form; "" is the form equal to the query's text."""

    def __init__(self) -> None:
        self._tables: List[pa.Table] = []
        self._rows = 0  # since the last summing

    def add(self, sessions: pa.RecordBatch) -> None:
        """Add sessions of whole users: no user is in two batches, so counts can be summed."""
        lengths = np.diff(sessions["queries"].offsets.to_numpy())
        user = np.repeat(_numbers(sessions["who"].dictionary_encode()), lengths)
        queries, forms = (
            sessions[name].flatten().dictionary_encode() for name in ("queries", "forms")
        )
        # Counting pairs of numbers instead of texts takes a third of the time.
        number = _numbers(queries) * len(forms.dictionary) + _numbers(forms)
        pairs, pair = np.unique(number, return_inverse=True)
        people = np.unique(pair * len(sessions) + user) // max(len(sessions), 1)
        self._tables.append(
            _table(
                queries.dictionary.take(pa.array(pairs // max(len(forms.dictionary), 1))),
                forms.dictionary.take(pa.array(pairs % max(len(forms.dictionary), 1))),
                pa.array(np.bincount(people, minlength=len(pairs))),
            )
        )
        self._rows += len(pairs)
        if self._rows > _MAX_ROWS:
            self._tables = [self._sums()]
            self._rows = 0

    def shown(self, read: QueryReader) -> Iterator[Tuple[str, str]]:
        """(query, form) for all queries that most people typed differently, sorted by query.

        Ties go to the query's own text, then to the alphabetically first form.

        Args:
            read: must turn the form back into the query, because users may choose the shown form
        """
        if not self._tables:
            return
        order = [("query", "ascending"), ("users", "descending"), ("form", "ascending")]
        counted = self._sums().sort_by(order).combine_chunks()
        query = counted["query"].combine_chunks().dictionary_encode().indices.to_numpy()
        first = np.flatnonzero(np.diff(query, prepend=-1) != 0)
        for row in counted.take(pa.array(first)).to_pylist():
            query, form = row["query"], row["form"]
            enough = row["users"] >= MIN_USERS or has_personal_data(form)
            if form and enough and read(form) == query:
                yield query, form

    def _sums(self) -> pa.Table:
        counted = pa.concat_tables(self._tables).group_by(["query", "form"])
        sums = counted.aggregate([("users", "sum")])
        return _table(sums["query"], sums["form"], sums["users_sum"])


def _table(*columns: pa.Array) -> pa.Table:
    types = (pa.large_string(), pa.large_string(), pa.int64())
    cast = [column.cast(each) for column, each in zip(columns, types)]
    return pa.table(cast, names=["query", "form", "users"])


def _numbers(texts: pa.DictionaryArray) -> np.ndarray:
    return texts.indices.to_numpy().astype(np.int64)
