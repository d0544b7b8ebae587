"""The one text layer: what people typed, and what models and counts read of it.

typed_queries     a typed query, normalised: the one function that does it
typed_sessions    what is typed to get suggestions, read by the same function
block_lists       words and patterns that no query may have, read from a file
display_forms     how queries are shown: the way most people typed them
text_settings     how text was normalised, as a file that travels with it
session_text      the session text format: separators and escapes
session_pairs     pairs of (session so far, next query), read from two files
histories         the earlier sessions of a person, from a file or in front of a session
users             who asked which pair, read from a file
text_checks       what cannot be learned from, found before it is binarised
word_pieces       session text in word pieces, and back
dictionary_file   the words of a dictionary that fairseq-preprocess wrote
"""
