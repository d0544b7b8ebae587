"""Tables and pictures of experiments, beside the paper's results.

command                     mtn-report
manifest                    reads report.json, which lists the files of a report
evaluation_file             reads the output of mtn-evaluate --json
run_scores                  computes mean and range over runs
training_log                reads learning curves
samples                     reads sample sessions and their suggestions
trained_models, attention   read checkpoints: sizes, attention
paper                       the paper's results
section_inputs              loads what the sections read
sections                    lists the sections: data_section, score_sections, model_sections
score_tables                builds the tables of scores
document                    defines headings, paragraphs, tables, pictures
pictures                    draws with matplotlib
markdown, html_page         write the document to files
registered, architectures   mtn-architectures: registered architectures and their sizes
"""
