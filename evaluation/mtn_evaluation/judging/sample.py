"""Draw test pairs for a reader, and write the key that maps lists to systems.

The reader is blind: the form does not show the next query, and letters in random order replace the
systems of each pair. The key contains no queries.
"""

import hashlib
import random
from string import ascii_uppercase
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import decode_query

from .form import BlindList, form_text
from .systems import Systems

KEY_SCHEMA = 1


class Sample(NamedTuple):
    form: str  # for the reader
    key: Dict[str, Any]  # not for the reader


def draw_sample(
    systems: Systems, people: Optional[Sequence[int]], pairs: int, nbest: int, seed: int
) -> Sample:
    """Args:
    people: the person of each test pair, if known; then one pair per person is drawn
    pairs: how many to draw
    """
    if len(systems.lists) > len(ascii_uppercase):
        raise InputError(
            f"{len(systems.lists)} systems", f"judge at most {len(ascii_uppercase)} at once"
        )
    chance = random.Random(seed)
    lists: List[BlindList] = []
    drawn = []
    for number, index in enumerate(_draw(len(systems.pairs), people, pairs, chance), 1):
        names = chance.sample(list(systems.lists), len(systems.lists))
        by_letter = dict(zip(ascii_uppercase, names))
        session = [decode_query(query) for query in systems.pairs[index].queries()]
        for letter, name in by_letter.items():
            shown = [decode_query(query) for query in systems.lists[name][index][:nbest]]
            lists.append(BlindList(number, letter, session, shown))
        empty = [name for name in systems.lists if not systems.lists[name][index]]
        drawn.append(
            {"pair": number, "line": index + 1, "systems": by_letter, "empty": sorted(empty)}
        )
    # The name links a form to its key. It is not a number, because spreadsheets change numbers.
    content = form_text("", lists, nbest) + repr([seed, drawn])
    name = "form-" + hashlib.sha256(content.encode("utf-8")).hexdigest()[:8]
    key = {
        "schema": KEY_SCHEMA,
        "form": name,
        "test": systems.prefix,
        "seed": seed,
        "nbest": nbest,
        "drawn": "one pair per person" if people is not None else "pairs",
        "systems": list(systems.lists),
        "pairs": drawn,
    }
    return Sample(form_text(name, lists, nbest), key)


def _draw(
    count: int, people: Optional[Sequence[int]], wanted: int, chance: random.Random
) -> List[int]:
    """The indices of the drawn pairs, in the order drawn."""
    pairs_of: Dict[int, List[int]] = {}
    for index in range(count):
        pairs_of.setdefault(index if people is None else people[index], []).append(index)
    if wanted > len(pairs_of):
        what = "pairs" if people is None else "people, of each of whom one pair is drawn"
        raise InputError(
            f"--lists {wanted:,}, but the test text has {len(pairs_of):,} {what}", "ask for fewer"
        )
    return [chance.choice(pairs_of[one]) for one in chance.sample(list(pairs_of), wanted)]
