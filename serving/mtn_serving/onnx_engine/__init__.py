"""An exported model in the door of `engine`: numpy and onnxruntime, no torch, no fairseq.

exported_model   the engine: text in, text and numbers out
model_files      the files of an exported model
vocabulary       text -> tokens and back, in words or pieces
session_source   a session as the model reads it: cut to its size, with what can be copied
session_layout   where everything stands in a batch of sessions, as arrays
encoder          sessions -> what the decoder attends to
token_codes      what level 1 made of a session, kept for the session that grows from it
decoder          prefixes of next queries, a tree per session -> how likely each next word is
beam_search      the likeliest next queries, whole or from what was typed on
typed_start      what was typed so far, and the words that continue it
candidate_trie   how likely given queries are, each distinct prefix once
"""
