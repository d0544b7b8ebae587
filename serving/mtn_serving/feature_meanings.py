"""What each feature says about a candidate, in words for people who ask why it was suggested.

"It" is the candidate. A number n with (log) is shown as log(1 + n): 0.7 is once, 4.6 is 100 times.
"""

from typing import Dict

MEANINGS: Dict[str, str] = {
    # the session
    "queries": "queries in the session",
    "last_words": "words in the last query",
    "last_asked": "times the last query was asked (log)",
    "last_followed": "times anything followed the last query (log)",
    # the sources
    "counted_place": "place among what people asked next, from 0",
    "hypothesis_place": "place among the model's suggestions, from 0",
    "edit_kind": "kind of change of the last query",
    "queries_ago": "how many queries ago it was asked in this session",
    "own_place": "place among this person's earlier queries, from 0",
    # the person's history
    "own_sessions": "earlier sessions of this person",
    "own_last_asked": "whether this person asked the last query before",
    "own_asked": "times this person asked it (log)",
    "own_habit": "times this person asked it, old ones counting less",
    "own_sessions_with_it": "earlier sessions in which this person asked it",
    "own_share_of_sessions": "share of this person's sessions that have it",
    "own_sessions_ago": "how many sessions ago this person asked it",
    "own_after_last": "times this person asked it after the last query",
    "own_share_after_last": "share of what this person asked after the last query",
    "made_up": "whether nobody asked it before",
    # the counts
    "share_after_1": "share of what follows the last query",
    "share_after_2": "share of what follows the last two queries",
    "share_after_3": "share of what follows the last three queries",
    "count_after_1": "times it followed the last query",
    "count_after_2": "times it followed the last two queries",
    "count_after_3": "times it followed the last three queries",
    "people_after": "people who asked it after the last query",
    "lift_after": "how much it prefers to follow the last query (log)",
    "asked": "times it was asked (log)",
    "asked_next": "times it followed any query (log)",
    "people": "people who asked it (log)",
    # the model
    "log_probability": "model score (log-probability)",
    "log_probability_per_token": "model score per word",
    "lift_by_model": "model score against popularity",
    "below_best": "model score, below the best",
    "above_asked": "model score, above the best asked query",
    "model_place": "place by model score, from 0",
    "unknown_words": "words that the model does not know",
    "agreement": "words shared with other likely candidates",
    # the words
    "words": "number of words",
    "shared_with_last": "words shared with the last query",
    "share_of_last_kept": "share of the last query's words in it",
    "share_of_it_from_last": "share of its words from the last query",
    "shared_with_earlier": "words shared with earlier queries of the session",
    "new_words": "words that are new to the session",
    "like_last": "similarity of its letters to the last query",
    "starts_with_last": "whether it starts with the last query",
    "last_starts_with_it": "whether the last query starts with it",
    "from_session": "share of its words from the session, by rarity",
    # the prefix, for completions
    "typed_characters": "typed characters",
    "typed_words": "finished words of the prefix",
    "open_characters": "typed characters of the open word",
    "characters_left": "characters left to type",
    "words_left": "words left to type",
    "ends_open_word": "whether it ends with the open word",
    "session_place": "place among the session's queries, from 0",
    "edits_place": "place among changes of the last query, from 0",
    "popular_place": "place among popular completions, from 0",
    "words_place": "place among completions of the open word, from 0",
    "corrected_place": "place among completions of the corrected prefix, from 0",
    "completions": "asked queries that start with the prefix (log)",
    "completions_asked": "times queries with this prefix were asked (log)",
    "share_of_completions": "share of what was asked with this prefix",
}
