"""Read the lists of several systems for one test text."""

from typing import Dict, List, Mapping, NamedTuple, Sequence

from mtn_preprocess.text.session_pairs import Pair, read_pairs_in_words

from ..same_test_set import read_answers

Lists = List[List[str]]  # the suggestions per pair, best first


class Systems(NamedTuple):
    prefix: str
    pairs: List[Pair]
    lists: Dict[str, Lists]  # by name


def read_systems(test: str, files: Mapping[str, Sequence[str]]) -> Systems:
    """Args:
    files: of each system; several if generated in shards
    """
    pairs = list(read_pairs_in_words(test))
    next_queries = [pair.next_query for pair in pairs]
    lists = {}
    for name, paths in files.items():
        log = read_answers(paths, test, next_queries)
        lists[name] = [_shown(answers.ranked) for answers in log.pairs]
    return Systems(test, pairs, lists)


def _shown(ranked: Sequence[str]) -> List[str]:
    """Each suggestion once; without the empty one that stands for an empty list."""
    return list(dict.fromkeys(filter(None, ranked)))
