"""Turn raw search logs into the session text that fairseq-preprocess binarises.

    mtn-log-to-sessions LOG [LOG …] --output FOLDER

writes for each split, line by line, FOLDER/train.session (queries so far) and train.next (the next
query). Also: train.whole (each training session once, for the dictionary), stats.json (the printed
table), rejects.tsv (the malformed lines) and manifest.json (the input and flags). On request:
train.user (the user of each pair), for each split; valid.history and test.history (the user's
earlier sessions).
"""

from typing import Optional, Sequence

from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.flags import settings_from
from mtn_preprocess.stopping import stoppable


def main(argv: Optional[Sequence[str]] = None) -> None:
    settings = settings_from(argv)
    from mtn_preprocess.account import table  # Arrow: not needed for --help
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
