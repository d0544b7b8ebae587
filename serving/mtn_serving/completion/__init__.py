"""Completing what is being typed, after the session so far.

typed_prefix   what was typed, read as the training text was
candidates     what it may become, from every source
next_words     words that people type behind a word
typing_errors  one error in the prefix
features       what a ranker knows of a completion
ranker         which completions are likely, learned on prefixes of validation text
completer      candidates, what may be shown, features
"""
