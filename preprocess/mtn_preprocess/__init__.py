"""From raw search logs to session text; installed as `mtn_preprocess`.

    log_to_sessions    the command; flags
    rules, reasons     what is asked for, and why a row may not make it
    log_files          what is to be read: files, folders, formats, columns
    log_lines          lines of a log, of any format, as Arrow batches
    row_query          lines as rows, sorted by user and time: SQL for every engine
    typed_queries      what was typed as a query of the session text format
    log_times          times that are not written as AOL writes them
    engines/           who runs that: DuckDB or Spark
    sessions           sorted rows as sessions: the rules, on whole arrays
    pairs, splits      sessions as pairs, and who gets them
    session_files      the files of session text
    manifest           what a folder was made from
    account            what was read, removed and kept, beside the paper's table
    subwords           sentencepiece
    output_folder      a folder that appears complete or not at all; scratch
    progress, stopping bars on a terminal; Ctrl-C
    spark_worker       what Spark sends to its workers

What runs on Spark's workers (spark_worker and what it imports, typed_queries, log_times) imports
nothing but Arrow and numpy: the workers need no fairseq.
"""
