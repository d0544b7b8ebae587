#!/usr/bin/env bash
# Completions for strangers: one split of one log, by user.
#
#   experiments/aol_completion/run.sh LOG WORK_FOLDER
#
# prepares LOG split by user, trains a model, counts, exports a bundle, fits the rankers of completions
# on every third validation pair, and scores completions of every EVERY-th (default: 8) test pair beside
# the baselines. What is there already is kept. UPDATES=8500, WIDTH=128 and SEED=1 can be set.
set -euo pipefail

[ $# -eq 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
log=$1 folder=$2/user every=${EVERY:-8}
updates=${UPDATES:-8500} width=${WIDTH:-128} seed=${SEED:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$([ -x "$root/.venv/bin/python" ] && echo "$root/.venv/bin/python" || echo python3)}
bin=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")
plugin=(--user-dir "$root/mtn_fairseq" --task session_to_query)
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-PASSIVE}"
text=$folder/text data=$folder/data-bin model=$folder/model counts=$folder/next-queries
answers=$folder/completions
mkdir -p "$answers"

# A whole file, or none: an answer that was cut is made again.
keep() {
    local file=$1
    shift
    [ -e "$file" ] || { "$@" > "$file.part" && mv "$file.part" "$file"; }
}

sample() {  # every N-th pair of a text, from the FIRST on: sample NEW OLD N FIRST
    local ending
    for ending in session next history user; do
        keep "$text/$1.$ending" awk "NR % $3 == $4" "$text/$2.$ending"
    done
}

prepare() {
    [ -d "$text" ] || "$bin/mtn-log-to-sessions" "$log" --split-by user --split 80,10,10 \
        --train-queries 2,10 --users --past 50 --output "$text"
    [ -d "$counts" ] || "$bin/mtn-count-next" --train "$text/train" --output "$counts"
    sample fitted valid 3 2
    sample judged test "$every" 1
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
        --lr-scheduler polynomial_decay --warmup-updates 1062 \
        --max-update "$updates" --total-num-update "$updates" --batch-size 32 \
        --train-batches random --num-workers 0 --cpu --seed "$seed" --no-epoch-checkpoints \
        --save-dir "$model" --log-format simple --log-interval 100
    touch "$model/complete"
}

fit() {
    local parts=(--checkpoint "$model/checkpoint_best.pt" --data "$data" --counts "$counts")
    keep "$folder/counts-ranker.txt" "$bin/mtn-fit-ranker" --completion --counts "$counts" \
        --valid "$text/fitted" --output "$folder/counts-ranker"
    [ -d "$folder/unranked" ] || "$bin/mtn-export" "${parts[@]}" --output "$folder/unranked"
    keep "$folder/completion-ranker.txt" "$bin/mtn-fit-ranker" --completion \
        --bundle "$folder/unranked" --valid "$text/fitted" --output "$folder/completion-ranker"
    [ -d "$folder/bundle" ] || "$bin/mtn-export" "${parts[@]}" \
        --completion-ranker "$folder/completion-ranker" --output "$folder/bundle"
}

complete() {
    local method
    for method in popular last last-popular personal; do
        keep "$answers/$method.jsonl" "$bin/mtn-complete" --baseline "$method" \
            --train "$text/train" --test "$text/judged"
    done
    keep "$answers/counts.jsonl" "$bin/mtn-complete" --counts "$counts" \
        --completion-ranker "$folder/counts-ranker" --test "$text/judged" --no-history
    keep "$answers/strangers.jsonl" "$bin/mtn-complete" --bundle "$folder/bundle" \
        --test "$text/judged" --no-history
    keep "$answers/known.jsonl" "$bin/mtn-complete" --bundle "$folder/bundle" \
        --test "$text/judged"
}

score() {
    local systems=() name
    for name in popular last last-popular counts strangers personal known; do
        systems+=("$name=$answers/$name.jsonl")
    done
    "$bin/mtn-evaluate" --completion "${systems[@]}" --test "$text/judged" \
        --baseline last-popular --baseline personal --json "$answers/scores.json"
}

prepare
train
fit
complete
score
