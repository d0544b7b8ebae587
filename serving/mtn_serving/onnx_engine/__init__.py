"""Run an exported model with numpy and onnxruntime, without torch and fairseq.

exported_model   the engine: text in, text and scores out
model_files      the files of an exported model
vocabulary       text -> tokens and back, in words or pieces
session_source   a session as the model reads it: truncated, with the words that can be copied
session_layout   the structure of a batch of sessions, as arrays
encoder          sessions -> codes that the decoder attends to
token_codes      the codes of level 1, reused when the session grows
decoder          prefixes of next queries, one tree per session -> log-probabilities of next words
beam_search      the most likely next queries, from the start or from a typed prefix
typed_start      the typed prefix, and the words that continue it
candidate_trie   log-probabilities of given queries, each distinct prefix computed once
"""
