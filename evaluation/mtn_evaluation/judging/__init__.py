"""Lists judged by people, and what can be counted of lists without them (docs/judging.md).

systems          the lists of several systems for one test text
sample           test pairs drawn for a reader, who does not see which system made a list
form             the table that the reader fills in
verdicts         verdicts of a filled form, counted per system
training_counts  how many people asked what in training
shares           generic, made-up, private, unrelated suggestions and shortened queries
"""
