"""Copying words of the session: beyond the paper, so by itself (docs/copying.md).

option        --copy-attention
words         which words can be copied, and in which columns of a distribution they stand
pointer       which session, which query, which word
mixture       both distributions in one, for training and scoring
best_words    the best words of the mixture, for beam search
hypotheses    words in the place of columns, in what a generator returns

An encoder that has `columns` (of `words`) returns what can be copied with its codes; a decoder that
has a `pointer` returns how it copies with its features.
"""
