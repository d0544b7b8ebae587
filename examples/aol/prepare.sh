#!/usr/bin/env bash
# Prepare and binarise the AOL files as published, with checks.
#
#   examples/aol/prepare.sh AOL_FOLDER WORK_FOLDER [flags of log_to_sessions.py …]
#
# makes WORK_FOLDER/text and WORK_FOLDER/data-bin. Existing results are checked and reused.
set -euo pipefail
export LC_ALL=C

[ $# -ge 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
aol=$1 work=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$([ -x "$root/.venv/bin/python" ] && echo "$root/.venv/bin/python" || echo python3)}
bin=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")

say() { printf '\n==> %s\n' "$*"; }
stop() { printf '%s\n' "$*" >&2; exit 1; }

say "1/4 the files"
shopt -s nullglob
files=("$aol"/user-ct-test-collection-*.txt "$aol"/user-ct-test-collection-*.txt.gz)
[ ${#files[@]} -gt 0 ] || stop "$aol: no user-ct-test-collection-*.txt(.gz); name the folder that holds the collection"
[ ${#files[@]} -eq 10 ] || echo "note: the collection has 10 files, here are ${#files[@]}"
ls -l "${files[@]}" | awk '{ print $5, $NF }'

say "2/4 sessions, by the paper's rules"
"$bin/mtn-log-to-sessions" "${files[@]}" --output "$work/text" "$@"
"$python" - "$work/text/stats.json" <<'PYTHON'
import json, sys

stats = json.load(open(sys.argv[1]))
rows = stats["rows"]["read"]
if rows != 36_389_567:  # as the collection's own U500k_README.txt says
    print(f"note: the whole collection has 36,389,567 rows, here are {rows:,}")
PYTHON

say "3/4 the text is checked, then binarised; words seen at least 8 times in training stay"
splits=()
for split in train valid test; do
    [ ! -e "$work/text/$split.session" ] || splits+=("$work/text/$split")
done
"$bin/mtn-check-text" "${splits[@]}"
if [ ! "$work/data-bin/complete" -nt "$work/text/manifest.json" ]; then
    rm -rf "$work/data-bin"
    "$bin/fairseq-preprocess" --user-dir "$root/mtn_fairseq" --task session_to_query \
        --source-lang session --target-lang next --joined-dictionary \
        --thresholdsrc "${THRESHOLD:-8}" --workers "${WORKERS:-$(getconf _NPROCESSORS_ONLN)}" \
        --trainpref "$work/text/train" --validpref "$work/text/valid" --testpref "$work/text/test" \
        --destdir "$work/data-bin"
    touch "$work/data-bin/complete"
fi

say "4/4 the result"
words=$(wc -l <"$work/data-bin/dict.next.txt")
echo "dictionary: $((words + 4)) symbols with the special ones (the paper: 76,604)"
echo "data: $work/data-bin"
