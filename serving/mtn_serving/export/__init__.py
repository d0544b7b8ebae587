"""From a checkpoint to files that run without torch: the second door to the plugin.

export_model    a checkpoint -> the model's part of a bundle
graph           an ONNX graph, put together node by node
layers          Transformer layers, with the weights of fairseq's modules
encoder_graph   embedded tokens of sessions -> what a decoder attends to
decoder_graph   embedded prefixes of next queries -> how likely each next word is
pointer_graph   copying words of the session, in both graphs
tables          vectors that are looked up outside the graphs: of words and of positions
"""
