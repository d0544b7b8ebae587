"""From raw search logs to session text; installed as `mtn_preprocess`.

    log_to_sessions    the command
    flags, flag_values, log_formats
                       its flags, and what is typed for them
    preparation        all of it, from log to text
    rules, reasons     what is asked for, and why a row may not make it
    log_files          what is to be read: files, folders, patterns
    log_layout         how it is written: formats, delimiters, columns
    log_lines          lines of a log, of any format, as Arrow batches
    row_query          lines as rows, sorted by user and time: SQL for every engine
    log_times          times that are not written as AOL writes them
    time_checks        whether times were read as they were meant
    rejects            the lines that are no rows
    engines/           who runs that: DuckDB or Spark
    sessions           sorted rows as sessions: the rules, on whole arrays
    pairs, splits      sessions as pairs, and who gets them
    session_files      the files of session text
    form_counts        how many people typed a query in which way
    manifest           what a folder was made from
    account            what was read, removed and kept
    subwords           sentencepiece
    output_folder      what may be replaced; scratch
    progress, stopping bars on a terminal; Ctrl-C
    spark_worker       what Spark sends to its workers

What later rooms use, too:

    errors             one error type: file, line, reason, remedy
    text/              the one text layer: what was typed, session text, word pieces, checks
    files/             how files, folders and standard streams are read and written
    commands/          flags, Ctrl-C and progress of commands; mtn-check-text, mtn-user-dir

What runs on Spark's workers (spark_worker and what it imports, log_times, text.typed_queries,
text.display_forms) imports nothing but Arrow and numpy.
"""
