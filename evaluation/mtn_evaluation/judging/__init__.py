"""Lists judged by people, and automatic counts over lists (docs/judging.md).

systems          reads the lists of several systems for one test text
sample           draws test pairs for a reader, who does not see which system made a list
form             writes and reads the table that the reader fills in
verdicts         counts the verdicts of a filled form per system
training_counts  counts how many people asked each query in training
shares           counts generic, made-up, private, unrelated suggestions and shortened queries
"""
