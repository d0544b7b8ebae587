"""Turn a trained model into suggestions.

suggester              the main class: sessions in, lists of suggestions out
loading                opens the parts of a suggester
pipeline               turns sessions into lists, with parts that fit together
bundle                 one folder with all parts: writes, opens and checks it
request                one session, and the person's earlier sessions
argument_checks        checks numbers that callers pass, and names their bounds
session_checks         checks what is passed as a session or a history
candidates             collects the candidates of all sources for one session
shown_candidates       collects enough candidates that may be shown
history                candidates from the person's earlier sessions
next_queries           the table of next queries
tally, counted_text    count training text: who asked what after what
counting               makes the table from the counts
counting_state         keeps the counts, so that more text can be added
counted_people         recognises people across texts
misspellings           queries that people take back for a better spelling
typed_words            words, and pairs of neighbouring words, that people typed
edits, word_changes    the last query with words changed as people change them
baselines              copying and counting, which any model should beat
completion             completes the query being typed, given the session so far
display_rules          what may be shown, from any source
abuse                  queries that are never shown or answered
features               the features of a candidate
word_features          those of its words
feature_meanings       the features in words, for explanations
ranker, fitting        rank candidates by probability, learned on validation text
trees                  runs a ranker's trees without LightGBM
list_rules             which candidates belong in a list
conditions             which parts a ranker was fitted with
fingerprints           recognise texts by their hashes
text_pool              many texts in two arrays
once                   results that a batch computes once
sorted_values          finds one value among many that are sorted
most_frequent          the most frequent items of a range
ranked_lists           many lists of numbers with their counts, in three arrays
following              follows one session: reads and encodes it once for many calls
explanation            why a text is suggested, or why not; uses without_queries, contributions
kept_folder            result folders with a header and checksums, written atomically
array_folder           result folders of arrays, opened by memory map
optional_imports       libraries that only some jobs need
engine                 the interface of a trained model
onnx_engine            runs an exported model with numpy and onnxruntime only
torch_engine           runs a checkpoint of the plugin
export                 checkpoint -> files for onnx_engine; imports torch, as torch_engine does
service                suggestions and completions over HTTP; `page` is its web page
commands               mtn-count-next, mtn-fit-ranker, mtn-suggest, mtn-export, mtn-serve, …
"""

from .suggester import Suggester, Suggestion

__all__ = ["Suggester", "Suggestion"]
