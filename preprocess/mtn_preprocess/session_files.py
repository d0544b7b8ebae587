"""The files of session text, written batch by batch."""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Callable, Dict, Optional, Type

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mtn_preprocess.form_counts import FormCounts
from mtn_preprocess.pairs import unroll, whole_sessions
from mtn_preprocess.rules import SPLITS, Rules

SPLIT_FILES = {f"{split}.{end}" for split in SPLITS for end in ("session", "next")}
WHOLE = "train.whole"
USERS = "train.user"

Assign = Callable[[pa.RecordBatch, pa.Array], np.ndarray]  # sessions and their text -> splits


class SessionFiles:
    """For each split, SPLIT.session and SPLIT.next; and train.whole, each training session once.

    Args:
        folder: must exist
        rules: a split with no share gets no files
        assign: which split each session goes to
        users: write train.user too, the running number of the user of each training pair
    """

    def __init__(self, folder: Path, rules: Rules, assign: Assign, users: bool = False) -> None:
        self.folder, self.rules, self.assign, self.users = folder, rules, assign, users
        self.users_before = 0  # in earlier batches
        self.splits = [name for name, share in zip(SPLITS, rules.split) if share]
        self.sessions: Counter = Counter()
        self.queries: Counter = Counter()
        self.pairs: Counter = Counter()
        self.forms = FormCounts()  # of training queries
        self.words: Dict[str, Counter] = {name: Counter() for name in self.splits}
        self._files: Dict[str, BinaryIO] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "SessionFiles":
        names = [f"{split}.{end}" for split in self.splits for end in ("session", "next")]
        if "train" in self.splits:
            names += [WHOLE, USERS] if self.users else [WHOLE]
        for name in names:
            self._files[name] = self._stack.enter_context(open(self.folder / name, "wb"))
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._stack.close()

    def write(self, sessions: pa.RecordBatch) -> None:
        """Sessions of whole users, by user and start."""
        if not sessions.num_rows:
            return
        wholes = whole_sessions(sessions)
        split_of_session = self.assign(sessions, wholes)
        pairs = unroll(sessions, wholes, self.rules.history)
        split_of_pair = split_of_session[pairs.session]
        for name in self.splits:
            mine = np.flatnonzero(split_of_session == SPLITS.index(name))
            my_pairs = pa.array(np.flatnonzero(split_of_pair == SPLITS.index(name)))
            self._put(f"{name}.session", pairs.source.take(my_pairs))
            self._put(f"{name}.next", pairs.target.take(my_pairs))
            if name == "train":  # without the history: a dictionary counts each query once
                self._put(WHOLE, wholes.take(pa.array(mine)))
                self.forms.add(sessions.take(pa.array(mine)))
                if self.users:
                    users = self._number_users(sessions)[pairs.session]
                    self._put(USERS, pa.array(users).cast(pa.string()).take(my_pairs))
            queries = sessions["queries"].take(pa.array(mine)).flatten()
            self.sessions[name] += len(mine)
            self.queries[name] += len(queries)
            self.pairs[name] += len(my_pairs)
            self._count_words(self.words[name], queries)

    def _number_users(self, sessions: pa.RecordBatch) -> np.ndarray:
        """One number a session. All sessions of a user are in one batch."""
        found = sessions["who"].dictionary_encode()
        numbers = found.indices.to_numpy() + self.users_before
        self.users_before += len(found.dictionary)
        return numbers

    def _put(self, name: str, lines: pa.Array) -> None:
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
