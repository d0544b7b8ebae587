"""Tables and pictures of experiments, beside the paper's own.

command                     mtn-report
manifest                    report.json: which files a report is made of
evaluation_file             what mtn-evaluate --json wrote
run_scores                  means and spread over runs
training_log                learning curves
samples                     sessions with their suggestions
trained_models, attention   what checkpoints tell: sizes, attention
paper                       the paper's figures
sections, score_tables      the report, section by section
document                    headings, paragraphs, tables, pictures
pictures                    drawn with matplotlib
markdown, html_page         the document as files
registered, architectures   mtn-architectures: what the plugin registers, and its sizes
"""
