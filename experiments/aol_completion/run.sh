#!/usr/bin/env bash
# Completions for strangers and for tomorrow: two splits of one log.
#
#   experiments/aol_completion/run.sh LOG WORK_FOLDER [SPLIT …]
#
# prepares LOG split by user and time (or as given: user, time, session), trains a model, counts, fits
# the rankers of completions on validation data, and scores completions of a sample of the test pairs
# beside the baselines. What is there already is kept, also what ../aol_lists/run.sh made in the same
# WORK_FOLDER. UPDATES=8500, WIDTH=128 and SEED=1 can be set; EVERY=8: every 8th test pair is
# completed; FIT_EVERY=4: the ranker with the model learns from every 4th validation pair;
# PECOS=python adds the rival of rival_pecos_prefix.py.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
log=$1 work=$2
shift 2
[ $# -gt 0 ] || set -- user time
updates=${UPDATES:-8500} width=${WIDTH:-128} seed=${SEED:-1}
every=${EVERY:-8} fit_every=${FIT_EVERY:-4}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-$([ -x "$root/.venv/bin/python" ] && echo "$root/.venv/bin/python" || echo python3)}
bin=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")
plugin=(--user-dir "$root/mtn_fairseq" --task session_to_query)
free=(--min-users 0 --explicit allow --personal-data allow)  # as the baselines, which hold nothing back
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-PASSIVE}"

# A whole file, or none: an answer that was cut is made again.
keep() {
    local file=$1
    shift
    [ -e "$file" ] || { "$@" > "$file.part" && mv "$file.part" "$file"; }
}

sample() {  # every N-th pair of a text: sample NEW OLD N
    local ending
    cp "$text/text.json" "$(dirname "$1")"
    for ending in session next history user; do
        keep "$1.$ending" awk "NR % $3 == 0" "$text/$2.$ending"
    done
}

prepare() {
    [ -d "$text" ] || "$bin/mtn-log-to-sessions" "$log" --split-by "$split" --split 80,10,10 \
        --train-queries 2,10 --users --past 50 --output "$text"
    [ -d "$counts" ] || "$bin/mtn-count-next" --train "$text/train" --output "$counts"
    [ -d "$all_counts" ] || "$bin/mtn-count-next" --train "$text/train" --min-users 1 \
        --output "$all_counts"
    sample "$answers/fitted" valid "$fit_every"
    sample "$judged" test "$every"
    [ ! -e "$data/complete" ] || return 0
    "$bin/fairseq-preprocess" "${plugin[@]}" --source-lang session --target-lang next \
        --joined-dictionary --thresholdsrc 5 --trainpref "$text/train" --validpref "$text/valid" \
        --testpref "$text/test" --destdir "$data"
    touch "$data/complete"
}

train() {
    [ ! -e "$model/complete" ] || return 0
    "$bin/fairseq-train" "$data" "${plugin[@]}" --arch mtn --level-layers 2,1 --copy-attention \
        --query-projection vector --share-decoder-input-output-embed \
        --encoder-embed-dim "$width" --encoder-ffn-embed-dim $((2 * width)) \
        --encoder-attention-heads 4 --dropout 0.1 \
        --criterion label_smoothed_cross_entropy --label-smoothing 0.05 \
        --optimizer fused_adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 --lr 0.002 \
        --lr-scheduler polynomial_decay --warmup-updates $((updates / 8)) \
        --max-update "$updates" --total-num-update "$updates" --batch-size 32 \
        --train-batches random --num-workers 0 --cpu --seed "$seed" --no-epoch-checkpoints \
        --save-dir "$model" --log-format simple --log-interval 100
    touch "$model/complete"
}

fit() {
    local parts=(--checkpoint "$model/checkpoint_best.pt" --data "$data" --counts "$counts")
    keep "$made/counts-ranker.txt" "$bin/mtn-fit-ranker" --completion --counts "$counts" \
        --valid "$text/valid" --output "$made/counts-ranker"
    keep "$made/free-ranker.txt" "$bin/mtn-fit-ranker" --completion --counts "$all_counts" \
        "${free[@]}" --valid "$text/valid" --output "$made/free-ranker"
    [ -d "$made/unranked" ] || "$bin/mtn-export" "${parts[@]}" --output "$made/unranked"
    keep "$made/model-ranker.txt" "$bin/mtn-fit-ranker" --completion \
        --bundle "$made/unranked" --valid "$answers/fitted" --output "$made/model-ranker"
    [ -d "$made/bundle" ] || "$bin/mtn-export" "${parts[@]}" \
        --completion-ranker "$made/model-ranker" --output "$made/bundle"
}

complete() {  # each of ours without and with the person's past
    local method
    for method in popular last last-popular personal; do
        keep "$answers/$method.jsonl" "$bin/mtn-complete" --baseline "$method" \
            --train "$text/train" --test "$judged"
    done
    keep "$answers/session.jsonl" "$bin/mtn-complete" --baseline personal --no-history \
        --train "$text/train" --test "$judged"
    [ -z "${PECOS:-}" ] || keep "$answers/pecos.jsonl" "$PECOS" "$here/rival_pecos_prefix.py" \
        --train "$text/train" --test "$judged"
    ours counts --counts "$counts" --completion-ranker "$made/counts-ranker"
    ours free --counts "$all_counts" --completion-ranker "$made/free-ranker" "${free[@]}"
    ours model --bundle "$made/bundle"
}

ours() {
    local name=$1
    shift
    keep "$answers/$name.jsonl" "$bin/mtn-complete" "$@" --test "$judged" --no-history
    keep "$answers/$name-past.jsonl" "$bin/mtn-complete" "$@" --test "$judged"
}

score() {
    local systems=() against=() name
    for name in last-popular session personal; do against+=(--baseline "$name"); done
    for name in popular last last-popular session pecos counts model free \
        personal counts-past model-past free-past; do
        [ ! -e "$answers/$name.jsonl" ] || systems+=("$name=$answers/$name.jsonl")
    done
    [ ! -e "$answers/pecos.jsonl" ] || against+=(--baseline pecos)
    "$bin/mtn-evaluate" --completion "${systems[@]}" --test "$judged" "${against[@]}" \
        --json "$answers/scores.json" > "$answers/scores.md"
    cat "$answers/scores.md"
}

for split; do
    folder=$work/$split
    made=$folder/completion answers=$folder/completion/test
    text=$folder/text data=$folder/data-bin model=$folder/model
    counts=$folder/next-queries all_counts=$made/all-queries judged=$answers/judged
    mkdir -p "$answers"
    # One by one: behind `&&`, a failure within a function would not stop the script.
    prepare
    train
    fit
    complete
    score
done
