"""Turn raw search logs into session text; installed as `mtn_preprocess`.

    log_to_sessions    the command
    flags, flag_values, log_formats
                       the flags, and how their values are parsed
    preparation        the whole pipeline, from log to text
    rules, reasons     the preparation rules, and the reasons to drop a row
    log_files          find the input: files, folders, patterns
    log_layout         detect how it is written: formats, delimiters, columns
    log_lines          read the lines of a log, in any format, as Arrow batches
    row_query          turn lines into rows sorted by user and time: SQL for every engine
    log_times          parse times that are not in AOL's format
    time_checks        detect times that were parsed in the wrong format
    rejects            record the malformed lines
    engines/           run the SQL: DuckDB or Spark
    sessions           group sorted rows into sessions: the rules, on whole arrays
    pairs, splits      turn sessions into pairs, and assign them to splits
    session_files      write the files of session text
    form_counts        count how many people typed a query in which spelling
    manifest           record what a folder was made from
    account            count what was read, removed and kept
    subwords           train and apply sentencepiece
    output_folder      protect existing output; scratch folders
    progress, stopping progress bars; Ctrl-C
    spark_worker       the code that Spark sends to its workers

Also used by later rooms:

    errors             one error type: file, line, reason, remedy
    text/              the one text layer: typed text, session text, word pieces, checks
    files/             read and write files, folders and standard streams
    commands/          flags, Ctrl-C and progress of commands; mtn-check-text, mtn-user-dir

The code that runs on Spark's workers (spark_worker and its imports, log_times,
text.typed_queries, text.display_forms) imports nothing but Arrow and numpy.
"""
