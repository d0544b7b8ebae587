"""Complete the query being typed, given the session so far.

typed_prefix   reads a typed prefix in the same way as the training text
candidates     completions from every source
next_words     words that people type after a word
typing_errors  corrects accents or one typing error in the prefix
features       the features of a completion
ranker         ranks completions, learned on prefixes of validation text
completer      collects the completions that may be shown, and their features
lists          makes the lists of `Suggester.complete`
baselines      completions by counting alone
"""
