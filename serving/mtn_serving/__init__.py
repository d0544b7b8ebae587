"""After fairseq: a trained model -> suggestions.

suggester              sessions in, lists out: the class that everything else is for
loading                opens the parts of a suggester
pipeline               the way from sessions to lists, with parts that fit together
bundle                 one folder that has all parts: written, opened, checked
request                one session, and what the same person asked before it
session_checks         what may be given as a session and as a history
candidates             candidates of all sources for one session
shown_candidates       those that may be shown: enough of the counts
history                what this person asked before
next_queries           what people asked next: the table, looked up
tally, counted_text    training text, counted: who asked what after what
counting               that table, made from what was counted
counting_state         what was counted, kept so that more text can be added; counted_people: whose
typed_words            which words and pairs of neighbouring words people typed
edits, word_changes    the last query with words changed as people change them
baselines              copying and counting, which any model should beat
completion             what is being typed, completed after the session so far
display_rules          what may be shown, whichever source it is from
abuse                  queries that are never shown nor answered
personal_data          text that may tell who somebody is
features               what a ranker knows of a candidate
ranker, fitting        which candidates are likely, learned on validation text
trees                  a ranker's trees as a graph, without LightGBM
list_rules             which candidates belong in a list
conditions             which parts a ranker was fitted with
fingerprints           texts that are known again and not kept
text_pool              many texts in two arrays
most_frequent          the most frequent of any range of numbers
ranked_lists           many lists of numbers with their counts, in three arrays
following              a session that is followed: read and encoded once, asked at each key
explanation            why a text is suggested, or why not; by without_queries and contributions
kept_folder            folders of results: a header, checksums, whole or not at all
array_folder           such folders of arrays, which open by memory map
optional_imports       libraries that only some jobs need
engine                 the door to a trained model
onnx_engine            an exported model in that door: numpy and onnxruntime only
torch_engine           the plugin in that door
export                 a checkpoint -> what onnx_engine runs; like torch_engine, it imports torch
service                suggestions and completions over HTTP; `page` is what a browser sees
commands               mtn-count-next, mtn-fit-ranker, mtn-suggest, mtn-export, mtn-serve, …
"""

from .suggester import Suggester, Suggestion

__all__ = ["Suggester", "Suggestion"]
