"""Convert a checkpoint to files that run without torch.

export_model    checkpoint -> the model's part of a bundle
graph           builds an ONNX graph node by node
layers          Transformer layers with the weights of fairseq's modules
encoder_graph   embedded tokens of sessions -> codes that the decoder attends to
decoder_graph   embedded prefixes of next queries -> log-probabilities of next words
pointer_graph   copies words of the session, in both graphs
tables          lookup tables outside the graphs: words and positions
"""
