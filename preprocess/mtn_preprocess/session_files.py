"""Write the files of session text, batch by batch."""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Callable, Dict, List, Optional, Type

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mtn_preprocess.form_counts import FormCounts
from mtn_preprocess.pairs import earlier_sessions, unroll, whole_sessions
from mtn_preprocess.rules import SPLITS, Rules
from mtn_preprocess.sessions import query_counts
from mtn_preprocess.splits import have_length
from mtn_preprocess.text.users import KEYS, user_key

WHOLE = "train.whole"
HISTORY_SPLITS = ("valid", "test")  # not train: its file would be many times as large as the log
ALL_FILES = {
    WHOLE,
    KEYS,
    *(f"{split}.{end}" for split in SPLITS for end in ("session", "next", "user")),
    *(f"{split}.history" for split in HISTORY_SPLITS),
}

_DROPPED = -1  # in no split: the length is for training only
_BATCH_SIZE = 1 << 16  # sessions whose histories are built at once

Assign = Callable[[pa.RecordBatch, pa.Array], np.ndarray]  # sessions and texts -> split numbers


class SessionFiles:
    """Writes SPLIT.session and SPLIT.next for each split, and each training session to train.whole.

    Args:
        folder: must exist
        rules: a split without a share gets no files; with `past`, also writes valid.history and
            test.history
        assign: returns the split of each session
        users: also write SPLIT.user, the running number of each pair's user
        user_keys: also write the key of each of these users
    """

    def __init__(
        self,
        folder: Path,
        rules: Rules,
        assign: Assign,
        users: bool = False,
        user_keys: bool = False,
    ) -> None:
        self.folder, self.rules, self.assign = folder, rules, assign
        self.users, self.user_keys = users, user_keys
        self.users_before = 0  # number of users in earlier batches
        self.splits = [name for name, share in zip(SPLITS, rules.split) if share]
        self.sessions: Counter = Counter()
        self.queries: Counter = Counter()
        self.pairs: Counter = Counter()
        self.pairs_with_past: Counter = Counter()
        self.sessions_for_test = 0  # in all splits: sessions of a length that the test allows
        self.dropped_sessions = self.dropped_queries = 0
        self.forms = FormCounts()  # of training queries
        self.words: Dict[str, Counter] = {name: Counter() for name in self.splits}
        self._files: Dict[str, BinaryIO] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "SessionFiles":
        users = [f"{split}.user" for split in self.splits if self.users]
        if self.user_keys:
            users.append(KEYS)
        for name in [*self.text_names(), *users]:
            self._files[name] = self._stack.enter_context(open(self.folder / name, "wb"))
        return self

    def text_names(self) -> List[str]:
        """The files of session text."""
        names = [f"{split}.{end}" for split in self.splits for end in ("session", "next")]
        if self.rules.past:
            names += [f"{split}.history" for split in self.splits if split in HISTORY_SPLITS]
        return [*names, WHOLE] if "train" in self.splits else names

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._stack.close()

    def write(self, found: pa.RecordBatch) -> None:
        """Write sessions of whole users, by user and start; other lengths serve only as past."""
        place = np.flatnonzero(have_length(found, self.rules.train_bounds))
        if not len(place):
            return
        sessions = found if len(place) == found.num_rows else found.take(pa.array(place))
        wholes = whole_sessions(sessions)
        split_of_session = self._split(sessions, wholes)
        pairs = unroll(sessions, wholes, self.rules.history)
        split_of_pair = split_of_session[pairs.session]
        users = None
        if self.users:
            numbers = self._number_users(sessions, split_of_session)[pairs.session]
            users = pa.array(numbers).cast(pa.string())
        for name in self.splits:
            mine = np.flatnonzero(split_of_session == SPLITS.index(name))
            my_pairs = pa.array(np.flatnonzero(split_of_pair == SPLITS.index(name)))
            self._write_lines(f"{name}.session", pairs.source.take(my_pairs))
            self._write_lines(f"{name}.next", pairs.target.take(my_pairs))
            if name == "train":  # without history, so that the dictionary counts each query once
                self._write_lines(WHOLE, wholes.take(pa.array(mine)))
                self.forms.add(sessions.take(pa.array(mine)))
            elif self.rules.past:
                self._write_past(name, found, place[mine])
            if users is not None:
                self._write_lines(f"{name}.user", users.take(my_pairs))
            queries = sessions["queries"].take(pa.array(mine)).flatten()
            self.sessions[name] += len(mine)
            self.queries[name] += len(queries)
            self.pairs[name] += len(my_pairs)
            self._count_words(self.words[name], queries)

    def _split(self, sessions: pa.RecordBatch, wholes: pa.Array) -> np.ndarray:
        """The split number of each session, or `_DROPPED`."""
        split = self.assign(sessions, wholes)
        for_test = have_length(sessions, self.rules.test_bounds)
        dropped = ~for_test & (split != SPLITS.index("train"))
        self.sessions_for_test += int(for_test.sum())
        self.dropped_sessions += int(dropped.sum())
        self.dropped_queries += int(query_counts(sessions)[dropped].sum())
        return np.where(dropped, _DROPPED, split)

    def _number_users(self, sessions: pa.RecordBatch, split: np.ndarray) -> np.ndarray:
        """The user number of each written session. All sessions of a user are in one batch."""
        written = np.flatnonzero(split != _DROPPED)
        found = sessions["who"].take(pa.array(written)).dictionary_encode()
        numbers = np.full(sessions.num_rows, _DROPPED, np.int64)
        numbers[written] = found.indices.to_numpy() + self.users_before
        self.users_before += len(found.dictionary)
        if self.user_keys:
            keys = [user_key(name) for name in found.dictionary.to_pylist()]
            self._write_lines(KEYS, pa.array(keys, pa.string()))
        return numbers

    def _write_past(self, split: str, found: pa.RecordBatch, place: np.ndarray) -> None:
        """Write the histories of these sessions, one line per pair; in parts, to save memory."""
        wholes = whole_sessions(found)
        size = max(_BATCH_SIZE // self.rules.past, 1)
        for some in (place[first : first + size] for first in range(0, len(place), size)):
            lines = earlier_sessions(found["who"], wholes, self.rules.past, some)
            pairs = np.repeat(np.arange(len(some)), query_counts(found)[some] - 1)
            of_pairs = lines.take(pa.array(pairs))
            self._write_lines(f"{split}.history", of_pairs)
            self.pairs_with_past[split] += pc.sum(pc.not_equal(of_pairs, "")).as_py()

    def _write_lines(self, name: str, lines: pa.Array) -> None:
        if len(lines):
            all_lines = pa.ListArray.from_arrays([0, len(lines)], lines)
            self._files[name].write(pc.binary_join(all_lines, "\n")[0].as_buffer())
            self._files[name].write(b"\n")

    @staticmethod
    def _count_words(words: Counter, queries: pa.Array) -> None:
        found = pc.value_counts(pc.split_pattern(queries, " ").flatten())
        pairs = zip(found.field("values").to_pylist(), found.field("counts").to_pylist())
        for word, number in pairs:
            words[word] += number
