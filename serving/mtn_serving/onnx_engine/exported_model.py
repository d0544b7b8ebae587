"""The engine of an exported model: text in, text and scores out."""

from pathlib import Path
from typing import Callable, List, Optional, Sequence

import numpy as np

from mtn_preprocess.errors import InputError
from mtn_preprocess.text.session_text import is_separator
from mtn_preprocess.text.text_settings import NAME as SETTINGS
from mtn_preprocess.text.text_settings import read_settings

from ..engine import HistorySize, Hypotheses, Scores
from .beam_search import Found, Hypothesis, search
from .candidate_trie import Known, known_of, score
from .decoder import Decoder
from .encoder import Encoded, Encoder
from .model_files import (
    DECODER,
    ENCODER,
    SHORT_DECODER,
    Facts,
    open_graph,
    open_tables,
    read_facts,
    words_said,
)
from .session_source import Source, read_sources
from .typed_start import Start, typed_start
from .vocabulary import Vocabulary

_MAX_NUMBERS = 1 << 22  # numbers in one matrix of hypotheses x words: 16 MB


class ExportedModel:
    """A model written by `export_model`. Thread-safe: no state is kept between calls."""

    def __init__(
        self,
        folder: Path,
        facts: Facts,
        vocabulary: Vocabulary,
        encoder: Encoder,
        decoder: Decoder,
        short_decoder: Optional[Decoder] = None,
    ) -> None:
        self.facts, self.vocabulary, self.encoder, self.decoder, self.short_decoder = (
            facts,
            vocabulary,
            encoder,
            decoder,
            short_decoder,
        )
        self.text_settings, self.settings_file = read_settings(folder), folder / SETTINGS
        self.max_words = facts.level_sizes[0]  # of a hypothesis, without the typed words
        self.history_size = HistorySize(0, 0)
        if facts.history_levels > 2:  # one of its sessions is the session in progress
            self.history_size = HistorySize(facts.level_sizes[2] - 1, facts.level_sizes[1])

    @classmethod
    def load(cls, folder: Path, threads: int = 1) -> "ExportedModel":
        """Load a folder that `export_model` wrote.

        Args:
            threads: threads of onnxruntime per call
        """
        folder = Path(folder)
        facts = read_facts(folder)
        vocabulary = Vocabulary.open(folder, facts)
        tables = open_tables(folder, facts.tables)
        separators = list(vocabulary.separators.values())
        encoder = Encoder(open_graph(folder, ENCODER, threads), tables, facts, separators)
        decoder = Decoder(open_graph(folder, DECODER, threads), tables, facts, facts.words)
        short = None
        if facts.shortlist:
            graph = open_graph(folder, SHORT_DECODER, threads)
            short = Decoder(graph, tables, facts, words_said(facts.shortlist))
        return cls(folder, facts, vocabulary, encoder, decoder, short)

    def sources(self, sessions: Sequence[str]) -> Encoded:
        """A batch of sessions, encoded once for all calls.

        A session larger than the model is truncated as in training, and reported.
        """
        return self.encoder(read_sources(sessions, self.vocabulary, self.facts))

    def longer(self, session: str, shorter: Encoded) -> Encoded:
        """The same as `sources` of one session that grew from the only session of `shorter`.

        Level 1 of a hierarchical model encodes only the new queries. Flat and int8 models encode
        the whole session, because their codes of a query depend on the other queries.
        """
        sources = read_sources([session], self.vocabulary, self.facts)
        return self.encoder(sources, shorter.token_codes)

    def attention(self, sources: Encoded) -> Optional[List[np.ndarray]]:
        return sources.attention

    def beam_search(self, beam: int) -> Callable[[Encoded], List[Hypotheses]]:
        """A function: `sources` -> the hypotheses of each session."""

        def of_sessions(sources: Encoded) -> List[Hypotheses]:
            searched = self._searched(sources, beam)
            found = [self._shown(*each) for each in zip(searched, sources.sources)]
            if self.short_decoder is not None:  # normalised over the shortlist only
                return [each._replace(known=None) for each in found]
            return found

        return of_sessions

    def complete(self, sources: Encoded, prefixes: Sequence[str], beam: int) -> List[Hypotheses]:
        """The hypotheses of each session that start exactly with its prefix.

        Args:
            prefixes: one per session, as in prepared text: whole words, and perhaps a part of one;
                after a space, or if nothing was typed, a new word begins
        """
        most = len(self.decoder.positions) - 2  # of typed words: one more, and its end
        starts = [
            typed_start(prefix, source, self.vocabulary, most)
            for prefix, source in zip(prefixes, sources.sources)
        ]
        can_be_said = [place for place, start in enumerate(starts) if start is not None]
        found = [Hypotheses([]) for _ in prefixes]
        if can_be_said:
            some = sources.only(can_be_said)
            known = [start for start in starts if start is not None]
            for place, searched in zip(can_be_said, self._searched(some, beam, known)):
                texts, known = self._shown(searched, sources.sources[place])
                fitting = [text for text in texts if text.startswith(prefixes[place])]
                found[place] = Hypotheses(fitting, known)
        return found

    def scores(
        self,
        sources: Encoded,
        candidates: Sequence[Sequence[str]],
        beams: Sequence[Hypotheses] = (),
    ) -> List[Scores]:
        """Log-probabilities of the candidates of each session."""
        known: List[Known] = [each.known or {} for each in beams] or [{} for _ in candidates]
        return score(self.decoder, self.vocabulary, sources, candidates, known)

    def hypotheses(
        self, sources: Encoded, beam: int, starts: Sequence[Start] = ()
    ) -> List[List[Hypothesis]]:
        """Hypotheses as columns with log-probabilities, best first."""
        return [each.best for each in self._searched(sources, beam, starts)]

    def _searched(self, sources: Encoded, beam: int, starts: Sequence[Start] = ()) -> List[Found]:
        """The number of sessions per search is limited by memory.

        A typed prefix may need any word, so `starts` are continued without the shortlist.
        """
        if beam < 1:
            raise InputError(f"a beam of {beam}", "ask for at least 1 hypothesis")
        decoder = self.decoder if starts or self.short_decoder is None else self.short_decoder
        starts = starts or [Start()] * len(sources.sources)
        given = max(len(start.columns) for start in starts)
        max_words = min(self.max_words, len(decoder.positions) - 1 - given)
        at_once = max(1, _MAX_NUMBERS // (beam * decoder.said))
        found: List[Found] = []
        for first in range(0, len(starts), at_once):
            part = range(first, min(first + at_once, len(starts)))
            some = sources if len(part) == len(starts) else sources.only(list(part))
            found += search(
                decoder, self.vocabulary, some, beam, max_words, starts[first : part.stop]
            )
        return found

    def _shown(self, found: Found, source: Source) -> Hypotheses:
        """The texts of hypotheses that are one query: a model may generate separators.

        Each text appears once, although pieces can spell it in several ways.
        """
        words = [source.words_of(each.columns, self.vocabulary) for each in found.best]
        texts = [self.vocabulary.text(each) for each in words if not any(map(is_separator, each))]
        return Hypotheses([text for text in dict.fromkeys(texts) if text], known_of(found.known))
