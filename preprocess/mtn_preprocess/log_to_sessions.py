"""From raw search logs to the session text that fairseq-preprocess binarises.

    mtn-log-to-sessions LOG [LOG …] --output FOLDER

writes, for each split, FOLDER/train.session (queries so far), train.next (the next query), line by
line; train.whole (each training session once, for the dictionary); stats.json, the printed table;
rejects.tsv, the lines that were no rows; and manifest.json, what it was all made from. On request:
train.user (who asked), for each split; valid.history, test.history (that person's sessions before).
"""

from typing import Optional, Sequence

from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.flags import settings_from
from mtn_preprocess.stopping import stoppable


def main(argv: Optional[Sequence[str]] = None) -> None:
    settings = settings_from(argv)
    from mtn_preprocess.account import table  # these import Arrow, which --help does not need
    from mtn_preprocess.preparation import prepare

    there_before = settings.output.exists()
    with stoppable():
        stats = prepare(settings)
    reused = there_before and not settings.overwrite
    ending = "as before, from the same input:" if reused else "written to"
    with standard_output() as out:
        out.write(f"{table(stats)}\n\n{ending} {settings.output}\n")


if __name__ == "__main__":
    main()
