"""From raw search logs to session text; installed as `mtn_preprocess`.

    log_to_sessions    the command
    rules, reasons     what is asked for, and why a row may not make it
    log_files          what is to be read: files, folders, formats, columns
    log_lines          lines of a log, of any format, as Arrow batches
    row_query          lines as rows, sorted by user and time: SQL for every engine
    typed_queries      what was typed as a query of the session text format
    engines/           who runs that: DuckDB or Spark
    sessions           sorted rows as sessions: the rules, on whole arrays
    pairs, splits      sessions as pairs, and who gets them
    session_files      the files, complete or not at all
    account            what was read, removed and kept, beside the paper's table
    subwords           sentencepiece
    output_folder      a folder that appears complete or not at all; scratch
    stopping           Ctrl-C

What runs on Spark's workers (log_lines, typed_queries, sessions, reasons, rules) imports nothing
but Arrow and numpy: the workers need no fairseq.
"""
