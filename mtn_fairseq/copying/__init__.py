"""Copying words of the session: an extension of the paper, kept separate (docs/copying.md).

option        --copy-attention
words         which words can be copied, and their columns in a distribution
pointer       chooses a session, a query, a word
mixture       mixes both distributions, for training and scoring
best_words    the best words of the mixture, for beam search
hypotheses    replaces columns by words in a generator's output

An encoder with `columns` (see `words`) also returns the words that can be copied. A decoder with a
`pointer` also returns a `Copying`.
"""
