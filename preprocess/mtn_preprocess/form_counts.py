"""How many people typed a query in which way: which form is shown for it."""

from typing import Iterator, List, Tuple

import numpy as np
import pyarrow as pa

from mtn_preprocess.text.typed_queries import QueryReader

MIN_USERS = 2  # what one person typed is not shown to others

_MAX_ROWS = 1 << 21  # that wait to be added up


class FormCounts:
    """Counts users for each query and form; "" is the form of a query as the text has it."""

    def __init__(self) -> None:
        self._tables: List[pa.Table] = []
        self._rows = 0  # since they were last added up

    def add(self, sessions: pa.RecordBatch) -> None:
        """Sessions of whole users: nobody is in two batches, so users can be added up."""
        lengths = np.diff(sessions["queries"].offsets.to_numpy())
        user = np.repeat(_numbers(sessions["who"].dictionary_encode()), lengths)
        queries, forms = (
            sessions[name].flatten().dictionary_encode() for name in ("queries", "forms")
        )
        # Numbers, not texts, are put together and counted, which takes a third of the time.
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
        """(query, form) of all queries that most people typed in another way, in their order.

        Of forms that equally many typed, the text's own comes first, then the first by alphabet.

        Args:
            read: what is shown must be read as the query again, should somebody choose it
        """
        if not self._tables:
            return
        order = [("query", "ascending"), ("users", "descending"), ("form", "ascending")]
        counted = self._sums().sort_by(order).combine_chunks()
        query = counted["query"].combine_chunks().dictionary_encode().indices.to_numpy()
        first = np.flatnonzero(np.diff(query, prepend=-1) != 0)
        for row in counted.take(pa.array(first)).to_pylist():
            query, form = row["query"], row["form"]
            if form and row["users"] >= MIN_USERS and read(form) == query:
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
