"""One folder with everything needed for suggestions, without torch, fairseq or a compiler.

    manifest.json        facts about the parts, sizes and checksums
    README.md            the model card
    model/               graphs, dictionary, word pieces     (mtn-export)
    next-queries/        table of next queries               (mtn-count-next)
    ranker/              trees as a graph                    (mtn-fit-ranker)
    completion-ranker/   the same, for completions           (mtn-fit-ranker --completion)
    rules/               display rules
    samples/             sample sessions for the page

folder         opens a bundle
manifest       writes, reads and checks manifest.json
rules          writes and reads the display rules
writing        writes or updates a bundle, atomically
same_log       checks whether counts and model are of the same log
samples        writes sample sessions that may be shown
parts          puts each part into a bundle
tree_graph     converts LightGBM's trees to a graph: the only module that imports onnx
model_card     writes README.md
trained_on     reports the amount of training data
"""
