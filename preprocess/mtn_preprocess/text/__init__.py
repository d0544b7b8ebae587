"""The one text layer: typed text, and the session text that models and counts read.

typed_queries     normalises a typed query: the only function that does so
typed_sessions    reads what is typed to get suggestions, with the same function
block_lists       reads words and patterns that no query may contain
display_forms     how queries are shown: as most people typed them
personal_data     recognises text that may identify a person
text_settings     how text was normalised, in a file that is copied along with the text
session_text      the session text format: separators and escapes
session_pairs     reads pairs of (session so far, next query) from two files
histories         reads a person's earlier sessions, from a file or before a session
users             reads the user of each pair from a file
text_checks       finds invalid text before it is binarised
word_pieces       converts session text to word pieces and back
dictionary_file   reads the words of a dictionary that fairseq-preprocess wrote
"""
