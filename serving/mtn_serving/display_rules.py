"""What may be shown: rules for candidates of every source, applied before the ranking.

    few users       at least `min_users` people asked the query; if nobody did, that many people
                    typed each of its words and each pair of neighbouring words
    block list      the query has no word or pattern of the block list
    explicit        the query has an explicit word only if the session has one, too
    abuse           neither query nor session looks for sexual material of minors
    personal data   the query has no e-mail address, long number or personal part of a URL; text
                    that nobody asked has no whole query in it that was typed with one
    mask            the query has no mask of the preparation: nobody can ask such text

The person's own text is exempt from the rules on few users and personal data: nobody else sees it.
"""

from functools import cached_property, partial
from pathlib import Path
from typing import (
    Callable,
    Counter,
    FrozenSet,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.block_lists import block_list, read_block_list
from mtn_preprocess.text.personal_data import has_personal_data
from mtn_preprocess.text.text_settings import AOL, TextSettings
from mtn_preprocess.text.typed_queries import EMAIL, NUMBER, in_lower_case, normalise

from .abuse import looks_for_abuse
from .candidates import Candidate
from .next_queries import NextQueries
from .once import Once

MIN_USERS = 2  # the default if users are known
ALLOW = "allow"
EXPLICIT_WORDS = Path(__file__).with_name("explicit_words.txt")

FEW_USERS, BLOCK_LIST, EXPLICIT, ABUSE, PERSONAL_DATA, MASK = REASONS = (
    "few users",
    "block list",
    "explicit",
    "abuse",
    "personal data",
    "mask",
)
_MASKS = frozenset((EMAIL, NUMBER))
MAX_WORDS_OF_PART = 12  # of a query that is looked for within composed text

WordPair = Tuple[str, str]  # neighbouring words


class DisplayRules(NamedTuple):
    """The settings."""

    min_users: Optional[int] = None  # None: MIN_USERS if users are known, else 1; 0: no limit
    block_list: Tuple[str, ...] = ()  # entries of a block list
    explicit: Optional[Tuple[str, ...]] = None  # likewise; None for the bundled list
    personal_data: bool = False  # whether personal data may be shown


DEFAULT = DisplayRules()


def read_rules(
    min_users: Optional[int] = None,
    block_list: Optional[Union[str, Path]] = None,
    explicit: Optional[Union[str, Path]] = None,
    personal_data: Optional[str] = None,
    base: DisplayRules = DEFAULT,
) -> DisplayRules:
    """Args:
    min_users: None for the value of `base`; likewise below
    block_list: a file
    explicit: a file that replaces the bundled list, or ALLOW
    personal_data: ALLOW
    base: defaults
    """
    rules = base
    if personal_data not in (None, ALLOW):
        raise InputError(f"personal data: {personal_data!r}", f"give {ALLOW!r}, or leave it out")
    if min_users is not None:
        rules = rules._replace(min_users=min_users)
    if block_list is not None:
        rules = rules._replace(block_list=read_block_list(Path(block_list)))
    if explicit is not None:
        words = () if explicit == ALLOW else read_block_list(Path(explicit), "--explicit")
        rules = rules._replace(explicit=words)
    if personal_data == ALLOW:
        rules = rules._replace(personal_data=True)
    return rules


class OwnText:
    """The person's own text.

    Args:
        session: the queries of the session in progress
        history: queries of earlier sessions
    """

    def __init__(self, session: Sequence[str], history: Iterable[str] = ()) -> None:
        self.session = session
        self.queries = {in_lower_case(query) for query in (*session, *history)}

    @cached_property
    def words(self) -> Set[str]:
        return {word for query in self.queries for word in query.split()}

    @cached_property
    def word_pairs(self) -> Set[WordPair]:
        typed = [query.split() for query in self.queries]
        return {pair for words in typed for pair in zip(words, words[1:])}


class _Kind(NamedTuple):
    is_explicit: bool  # by the rules in use
    is_abuse: bool  # by the bundled list, whatever the rules


class Verdict(NamedTuple):
    """What the rules say about one text, whoever asks. The reasons are among REASONS."""

    kind: _Kind
    always: Optional[str] = None  # why nobody may see it
    others: Optional[str] = None  # why only people who asked it may see it
    # What too few people typed, unless the person typed it.
    rare_words: FrozenSet[str] = frozenset()
    rare_pairs: FrozenSet[WordPair] = frozenset()
    is_composed: bool = False  # whether nobody is known to have asked it


_NEITHER = _Kind(False, False)
_ORDINARY = Verdict(_NEITHER)  # everybody may see it


class _TypedByEnough(NamedTuple):
    """Whether enough people typed a word, or a pair of neighbouring words."""

    words: Once[str, bool]
    pairs: Once[WordPair, bool]


class DisplayFilter:
    """Applies the rules. Keeps no state between calls.

    Args:
        rules: the settings
        table: who asked what; without a table, or with one of an earlier version, nothing is held
            back for few users, and an explicit `min_users` is refused
        text: how queries were normalised, if known
    """

    def __init__(
        self,
        rules: DisplayRules,
        table: Optional[NextQueries] = None,
        text: Optional[TextSettings] = None,
    ) -> None:
        self.rules, self.table = rules, table
        self.min_users = _min_users(rules.min_users, table)
        bundled = read_block_list(EXPLICIT_WORDS)
        entries = bundled if rules.explicit is None else rules.explicit
        # Match texts normalised as AOL's: punctuation never hides a word, whatever the settings.
        self._has_bundled_word = block_list(bundled)
        self._has_explicit_word = None if entries == bundled else block_list(entries)
        if text is None:  # unknown settings: texts may have any character
            self._is_blocked = _on_normalised(block_list(rules.block_list), rules.block_list)
        else:
            self._is_blocked = block_list(rules.block_list, text.characters)

    def shown(
        self,
        candidates: Sequence[Candidate],
        own: OwnText,
        held_back: Optional[Counter[str]] = None,
        verdicts: Optional[Once[str, Verdict]] = None,
    ) -> List[Candidate]:
        """The candidates that may be shown, in the given order.

        Args:
            held_back: counter for the candidates held back, by REASONS
            verdicts: of the batch, from `verdicts`
        """
        if verdicts is None:
            verdicts = self.verdicts()
        kinds = [self._kind(normalise(query, AOL)) for query in own.session]
        is_explicit_session = any(kind.is_explicit for kind in kinds)
        is_abuse = any(kind.is_abuse for kind in kinds)
        kept: List[Candidate] = []
        for candidate in candidates:
            text = candidate.text
            verdict = verdicts[text]
            if verdict is _ORDINARY and not is_abuse:  # as most are
                kept.append(candidate)
                continue
            reason = ABUSE if is_abuse else self._reason(text, verdict, own, is_explicit_session)
            if reason is None:
                kept.append(candidate)
            elif held_back is not None:
                held_back[reason] += 1
        return kept

    def _reason(
        self, text: str, verdict: Verdict, own: OwnText, is_explicit_session: bool
    ) -> Optional[str]:
        """One of REASONS, or None if the text may be shown."""
        if verdict.always is not None:
            return verdict.always
        if verdict.kind.is_explicit and not is_explicit_session:
            return EXPLICIT
        if text in own.queries:
            return None
        if verdict.others is not None:
            return verdict.others
        if verdict.rare_words and not verdict.rare_words <= own.words:
            return FEW_USERS
        if verdict.rare_pairs and not verdict.rare_pairs <= own.word_pairs:
            return FEW_USERS
        if verdict.is_composed and not self.rules.personal_data and self._has_personal_query(text):
            return PERSONAL_DATA
        return None

    def verdicts(self) -> Once[str, Verdict]:
        """The verdicts on the texts of one batch, each computed once."""
        return Once(partial(self._verdict, self._typed_by_enough()))

    def _typed_by_enough(self) -> _TypedByEnough:
        """Edits of one query share most words and pairs."""
        table, least = self.table, self.min_users
        if table is None:
            return _TypedByEnough(Once(lambda word: True), Once(lambda pair: True))
        return _TypedByEnough(
            Once(lambda word: table.knows_word(word, least)),
            Once(lambda pair: table.knows_word_pair(*pair, least)),
        )

    def _verdict(self, enough: _TypedByEnough, text: str) -> Verdict:
        kind = self._kind(normalise(text, AOL))
        if kind.is_abuse:
            return Verdict(kind, always=ABUSE)
        if not _MASKS.isdisjoint(text.split()):
            return Verdict(kind, always=MASK)
        if self._is_blocked(text):
            return Verdict(kind, always=BLOCK_LIST)
        number = None if self.table is None else self.table.queries.find(text)
        if not self.rules.personal_data and self._has_personal_data(text, number):
            return Verdict(kind, others=PERSONAL_DATA)
        if number is not None:
            if not self._has_enough_people(number):
                return Verdict(kind, others=FEW_USERS)
            return _ORDINARY if kind is _NEITHER else Verdict(kind)
        return self._verdict_on_composed(text, kind, enough)

    def _verdict_on_composed(self, text: str, kind: _Kind, enough: _TypedByEnough) -> Verdict:
        """The verdict on text that nobody is known to have asked."""
        table = self.table
        if table is None:
            return Verdict(kind)
        if self.min_users == 0:
            return Verdict(kind, is_composed=True)
        if table.was_left_out(text):
            return Verdict(kind, others=FEW_USERS)
        words = text.split()
        rare_words = frozenset([word for word in words if not enough.words[word]])
        pairs = zip(words, words[1:])
        rare_pairs = frozenset([pair for pair in pairs if not enough.pairs[pair]])
        return Verdict(kind, None, None, rare_words, rare_pairs, True)

    def number_of_known(self, text: str) -> Optional[int]:
        """The number of a query of the table; None unless enough people asked it to reveal that."""
        number = None if self.table is None else self.table.queries.find(text)
        if self.table is None or number is None:
            return None
        return number if self._has_enough_people(number) else None

    def _has_enough_people(self, number: int) -> bool:
        """Args: number: of a query in the table"""
        table = self.table
        if table is None or self.min_users == 0:
            return True
        people = table.users_of(number) if table.has_users else int(table.asked[number])
        return max(people, 1) >= self.min_users  # somebody did ask it

    def _kind(self, normalised: str) -> "_Kind":
        has_bundled_word = self._has_bundled_word(normalised)
        is_explicit = has_bundled_word
        if self._has_explicit_word is not None:
            is_explicit = self._has_explicit_word(normalised)
        is_abuse = looks_for_abuse(normalised, has_bundled_word)
        return _Kind(is_explicit, is_abuse) if is_explicit or is_abuse else _NEITHER

    def _has_personal_data(self, text: str, number: Optional[int]) -> bool:
        """Whether the text, or the form shown instead, has personal data."""
        if has_personal_data(text):
            return True
        form = self.table.form_of(number) if self.table is not None and number is not None else None
        return form is not None and has_personal_data(form)

    def _has_personal_query(self, text: str) -> bool:
        """Whether words of composed text are a query that people typed with personal data."""
        table = self.table
        if table is None or not len(table.shown):
            return False
        words = text.split()
        return any(
            has_personal_data(table.form(" ".join(words[start:end])) or "")
            for start in range(len(words))
            for end in range(start + 2, min(start + MAX_WORDS_OF_PART, len(words)) + 1)
        )

    def form(self, query: str) -> Optional[str]:
        """How most people typed a query, where that may be shown: it may have more than the query,
        such as the signs of an address."""
        form = None if self.table is None else self.table.form(query)
        if form is None or self.rules.personal_data or not has_personal_data(form):
            return form
        return None


def _min_users(asked_for: Optional[int], table: Optional[NextQueries]) -> int:
    if table is not None and table.typed_words is not None:
        return asked_for if asked_for is not None else MIN_USERS if table.has_users else 1
    if not asked_for:
        return 0
    if table is None:
        raise InputError(
            "the number of people who asked a query is known only with counts",
            "give --counts, or leave out --min-users",
        )
    raise InputError(
        "this table does not know how many people asked a query",
        "run mtn-count-next again, or leave out --min-users",
        table.header,
    )


def _on_normalised(matches: Callable[[str], bool], entries: Sequence[str]) -> Callable[[str], bool]:
    if not entries:
        return lambda text: False
    return lambda text: matches(normalise(text, AOL))
