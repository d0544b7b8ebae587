"""Does CTranslate2 compute the model that fairseq does? Otherwise its times would say nothing."""

from pathlib import Path
from typing import Any, Dict

from model_engines import BEAM, WORDS, stock_search
from synthetic_models import random_sessions

SESSIONS = 32


def check_converted_model(folder: Path, words: int) -> Dict[str, Any]:
    """fairseq's hypotheses, and their scores, beside those of the converted model in float32."""
    import ctranslate2

    translator = ctranslate2.Translator(
        str(folder / "ctranslate2-float32"), compute_type="float32", intra_threads=1
    )
    sessions = random_sessions(words, SESSIONS, seed=9)
    sources = [session.split() for session in sessions]
    lists = stock_search(folder, threads=1)(sessions)
    found = translator.translate_batch(
        sources,
        beam_size=BEAM,
        num_hypotheses=BEAM,
        min_decoding_length=WORDS,
        max_decoding_length=WORDS,
    )
    same = sum(
        {tuple(words) for words in each.hypotheses} == {tuple(one.text.split()) for one in scored}
        for each, scored in zip(found, lists)
    )
    every = [(source, one) for source, scored in zip(sources, lists) for one in scored]
    scores = translator.score_batch(
        [source for source, _ in every], [one.text.split() for _, one in every]
    )
    difference = max(
        abs(ours - theirs)
        for scored, (_, one) in zip(scores, every)
        for ours, theirs in zip(scored.log_probs, one.log_probabilities.tolist())
    )
    return {"sessions": SESSIONS, "same_hypotheses": same, "largest_difference": difference}
