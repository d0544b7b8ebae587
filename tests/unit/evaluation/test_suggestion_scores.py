"""The figures by hand, and properties for any suggestions."""

import math
import random

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from mtn_evaluation import Suggestions, figures, pair_rows, score, signature
from mtn_evaluation.suggestion_scores import distinct, rank_of, score_lists
from mtn_fairseq.scoring.ngram_precision import NgramPrecisionConfig, NgramPrecisionScorer

# --- by hand --------------------------------------------------------------------------------------

#   suggested   asked       1-grams  2-grams  3-grams  4-grams
#   a b d       a b c       2 of 3   1 of 2   0 of 1   0 of 0
#   a a a       a b         1 of 3   0 of 2   0 of 1   0 of 0    a is asked once: one match
#   a b c d e   a b c d e   5 of 5   4 of 4   3 of 3   2 of 2
#   sum                     8 of 11  5 of 8   3 of 5   2 of 2
SUGGESTED = ["a b d", "a a a", "a b c d e"]
ASKED = ["a b c", "a b", "a b c d e"]


def test_precisions_and_bleu():
    found = score_lists([[line] for line in SUGGESTED], ASKED)
    precisions = [found[f"{n}-gram"] for n in (1, 2, 3, 4)]
    assert precisions == pytest.approx([100 * 8 / 11, 100 * 5 / 8, 100 * 3 / 5, 100])
    # 11 words for 10: no brevity penalty. 8/11 · 5/8 · 3/5 · 1 = 3/11, and its fourth root.
    assert found["bleu"] == pytest.approx(100 * (3 / 11) ** 0.25)
    assert found["exact"] == pytest.approx(100 / 3)
    assert found["length"] == pytest.approx(11 / 3)


def test_short_suggestions_are_penalised():
    found = score_lists([["a b c d e"]], ["a b c d e f"])
    assert [found[f"{n}-gram"] for n in (1, 2, 3, 4)] == [100] * 4
    assert found["bleu"] == pytest.approx(100 * math.exp(1 - 6 / 5))


def test_precisions_without_matches_are_0_and_not_smoothed():
    """Two words have no 3-gram; and 3-grams without a match are not smoothed either."""
    found = score_lists([["a b"]], ["a b"])
    assert [found[f"{n}-gram"] for n in (1, 2, 3, 4)] == [100, 100, 0, 0]
    assert found["bleu"] == 0 and found["exact"] == 100
    found = score_lists([["a b c d"]], ["d c b a"])
    assert [found[f"{n}-gram"] for n in (1, 2, 3, 4)] == [100, 0, 0, 0]
    assert found["bleu"] == 0


def test_empty_suggestions_count_as_suggestions():
    found = score_lists([[""], ["a b"]], ["a b c", "a b"], at=[5])
    # Two words suggested, five asked.
    assert found["1-gram"] == found["2-gram"] == 100
    assert found["exact"] == found["mrr@5"] == 50
    assert found["length"] == 1
    alone = score_lists([["", "a"]], ["a"], at=[1, 2])
    assert [alone[f"{n}-gram"] for n in (1, 2, 3, 4)] == [0] * 4
    assert alone["bleu"] == alone["exact"] == alone["mrr@1"] == alone["length"] == 0
    assert alone["mrr@2"] == 50  # the empty suggestion has the first rank


def test_mrr_and_hit():
    ranked = [["x", "a"], ["a", "x"], ["x", "y", "z", "a"], ["x"], ["x", "y", "a"]]
    found = score_lists(ranked, ["a"] * 5, at=[1, 3, 10])
    assert [found[f"hit@{k}"] for k in (1, 3, 10)] == pytest.approx([20, 60, 80])
    assert found["mrr@1"] == found["exact"] == pytest.approx(20)
    assert found["mrr@3"] == pytest.approx(20 * (1 / 2 + 1 + 1 / 3))
    assert found["mrr@10"] == pytest.approx(20 * (1 / 2 + 1 + 1 / 4 + 1 / 3))


def test_a_repeated_suggestion_takes_no_rank():
    assert rank_of("a", ["x", "x", "x", "a"]) == 2
    assert rank_of("a", ["x", "y", "x", "a", "a"]) == 3
    assert rank_of("a", ["a", "a"]) == 1
    assert rank_of("a", ["x", "a b"]) is None


def test_distinct():
    # a b c, a b: 5 words, 3 distinct; 3 two-grams, 2 distinct (a b, b c)
    assert distinct(["a b c", "a b", ""], 1) == pytest.approx(60)
    assert distinct(["a b c", "a b", ""], 2) == pytest.approx(200 / 3)
    assert distinct(["a a a a"], 1) == 25  # also within one suggestion
    assert distinct(["", "a"], 2) == 0


def test_ranks_beyond_nbest_are_unknown():
    """A list cut at 5 does not determine rank 10."""
    rows = pair_rows([["x", "a"]], ["a"], at=[5, 10], nbest=5)
    found = figures(rows.sum(axis=0), 1, at=[5, 10])
    assert found["mrr@5"] == 50 and found["hit@5"] == 100
    assert math.isnan(found["mrr@10"]) and math.isnan(found["hit@10"])
    assert found["length"] == 1 and found["exact"] == 0


def test_a_log_by_itself_is_scored_on_raw_text():
    pairs = [
        Suggestions("s", "<<unk>> b", ["<unk> b"]),
        Suggestions("s", "<unk> b", ["<unk> b"]),
        Suggestions("s", "a b", ["a b"]),
    ]
    found = score(pairs)
    assert found["1-gram"] == pytest.approx(100 * 4 / 6)
    assert found["exact"] == found["mrr@5"] == pytest.approx(100 / 3)


def test_signature():
    """Untokenised words, no smoothing, and the version of sacrebleu."""
    version = sacrebleu.__version__
    assert signature() == f"nrefs:1|case:mixed|eff:no|tok:none|smooth:none|version:{version}"


# --- inside fairseq-generate ----------------------------------------------------------------------


def scorer_of(folder, pairs, words=""):
    (folder / "dict.next.txt").write_text("".join(f"{word} 1\n" for word in words.split()))
    scorer = NgramPrecisionScorer(NgramPrecisionConfig(data=str(folder), target_lang="next"))
    for suggested, asked in pairs:
        scorer.add_string(asked, suggested)
    return scorer


def test_registered_scorer(tmp_path):
    scorer = scorer_of(tmp_path, zip(SUGGESTED, ASKED), words=" ".join({*" ".join(ASKED).split()}))
    assert scorer.score() == pytest.approx(100 * (3 / 11) ** 0.25)
    figures_by_hand = "1/2/3/4-gram 72.73/62.50/60.00/100.00, BLEU 72.27"
    assert scorer.result_string() == (
        f"{figures_by_hand}; with <unk> as a token, {figures_by_hand}; {signature()}"
    )


@pytest.mark.parametrize(
    "pair",
    [("a <unk>", "a <<unk>>"), ("a rare", "a other")],
    ids=["not shown", "as typed, of a model that copies"],
)
def test_registered_scorer_treats_unknown_words_both_ways(tmp_path, pair):
    assert (
        scorer_of(tmp_path, [pair], words="a b")
        .result_string()
        .startswith(
            "1/2/3/4-gram 50.00/0.00/0.00/0.00, BLEU 0.00; "
            "with <unk> as a token, 1/2/3/4-gram 100.00/100.00/0.00/0.00, BLEU 0.00; "
        )
    )


def test_registered_scorer_with_a_dictionary_of_pieces(tmp_path):
    """Its pieces are not words: only words shown as unknown count as unknown."""
    pairs = [("best hotel <unk>", "best hotel <<unk>>")]
    scorer = scorer_of(tmp_path, pairs, words="\N{LOWER ONE EIGHTH BLOCK}ho tel")
    assert "as a token, 1/2/3/4-gram 100.00/100.00/100.00/0.00" in scorer.result_string()


def test_registered_scorer_without_pairs(tmp_path):
    """A shard may have no pairs, and fairseq still asks for a score."""
    assert scorer_of(tmp_path, []).result_string() == "no pairs"
    assert scorer_of(tmp_path, []).score() == 0


# --- for any suggestions --------------------------------------------------------------------------

a_query = st.lists(st.sampled_from("abc"), min_size=1, max_size=6).map(" ".join)
a_suggestion = st.one_of(st.just(""), a_query)
answers = st.lists(
    st.tuples(st.lists(a_suggestion, min_size=1, max_size=6), a_query), min_size=1, max_size=12
)


@given(answers, st.randoms(use_true_random=False))
def test_the_order_of_pairs_does_not_matter(pairs, shuffler):
    shuffled = pairs[:]
    shuffler.shuffle(shuffled)
    one, other = (score_lists(*zip(*some), at=[2, 5]) for some in (pairs, shuffled))
    assert one == pytest.approx(other)


@given(answers)
def test_the_next_queries_themselves_score_100(pairs):
    asked = [query for _, query in pairs]
    found = score_lists([[query] for query in asked], asked, at=[1, 5])
    for name in ("exact", "mrr@1", "mrr@5", "hit@1", "hit@5"):
        assert found[name] == pytest.approx(100)
    longest = max(len(query.split()) for query in asked)
    for n in (1, 2, 3, 4):
        assert found[f"{n}-gram"] == (100 if longest >= n else 0)
    assert found["bleu"] == pytest.approx(100 if longest >= 4 else 0)


@given(answers)
def test_against_sacrebleu_and_plain_counting(pairs):
    ranked, asked = zip(*pairs)
    found = score_lists(ranked, asked, at=[1, 3])
    bleu = sacrebleu.BLEU(tokenize="none", smooth_method="none").corpus_score(
        [suggestions[0] for suggestions in ranked], [list(asked)]
    )
    assert found["bleu"] == pytest.approx(bleu.score)
    assert [found[f"{n}-gram"] for n in (1, 2, 3, 4)] == pytest.approx(bleu.precisions)
    different = [list(dict.fromkeys(suggestions)) for suggestions in ranked]
    hits = [query in suggestions[:3] for suggestions, query in zip(different, asked)]
    assert found["hit@3"] == pytest.approx(100 * np.mean(hits))
    assert found["hit@1"] == found["mrr@1"] == found["exact"]
    assert found["hit@3"] / 3 - 1e-9 <= found["mrr@3"] <= found["hit@3"] + 1e-9


@given(answers, st.integers(0, 99))
def test_figures_of_a_subset_equal_those_of_its_pairs(pairs, seed):
    chosen = sorted(random.Random(seed).sample(range(len(pairs)), (len(pairs) + 1) // 2))
    rows = pair_rows(*zip(*pairs), at=[5])
    part = figures(rows[chosen].sum(axis=0), len(chosen), at=[5])
    assert part == pytest.approx(score_lists(*zip(*(pairs[i] for i in chosen)), at=[5]))
