"""One folder that has all that suggestions are made from; it needs no torch, fairseq or compiler.

    manifest.json        what is in it, sizes and checksums
    README.md            the model card
    model/               graphs, dictionary, word pieces     (mtn-export)
    next-queries/        what people asked next              (mtn-count-next)
    ranker/              trees as a graph                    (mtn-fit-ranker)
    completion-ranker/   the same, for what is being typed   (mtn-fit-ranker --completion)
    rules/               what may be shown
    samples/             sessions to try it with

folder         opens one
manifest       what is in it, and whether it is as it was written
rules          what may be shown, as files
writing        a new bundle, or one with other parts, whole or not at all
same_log       whether counts and model can be of the same log
samples        sessions to try it with, if they may be shown
parts          each part as it is put into a bundle
tree_graph     LightGBM's trees as a graph: the only module that imports onnx
model_card     README.md
trained_on     how much the model has seen
"""
