#!/usr/bin/env bash
# Lists for strangers, for tomorrow, and by session: three splits of one log.
#
#   experiments/aol_lists/run.sh LOG WORK_FOLDER [SPLIT …]
#
# prepares LOG split by user, time and session (or the given ones), trains a model, counts, fits the
# ranker on validation data, and scores the lists beside the baselines on the test data. What is there
# already is kept, and a training that was cut goes on. UPDATES=8500, WIDTH=128 and SEED=1 can be set;
# SUBSET=valid scores the validation data; PECOS=python adds the rival of ../aol_small/rival_pecos.py.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
log=$1 work=$2
shift 2
[ $# -gt 0 ] || set -- user time session
updates=${UPDATES:-8500} width=${WIDTH:-128} seed=${SEED:-1} subset=${SUBSET:-test}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-$([ -x "$root/.venv/bin/python" ] && echo "$root/.venv/bin/python" || echo python3)}
bin=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")
plugin=(--user-dir "$root/mtn_fairseq" --task session_to_query)
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-PASSIVE}"

# A whole file, or none: an answer that was cut is made again.
keep() {
    local file=$1
    shift
    [ -e "$file" ] || { "$@" > "$file.part" && mv "$file.part" "$file"; }
}

prepare() {  # sessions of 2 to 10 queries to learn from, the paper's 3 to 5 to be judged by
    [ -d "$text" ] || "$bin/mtn-log-to-sessions" "$log" --split-by "$split" --split 80,10,10 \
        --train-queries 2,10 --users --past 50 --output "$text"
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

suggest() {
    local parts=(--model "$model/checkpoint_best.pt" --data "$data" --counts "$counts")
    [ -d "$counts" ] || "$bin/mtn-count-next" --train "$text/train" --output "$counts"
    keep "$folder/ranker.txt" "$bin/mtn-fit-ranker" "${parts[@]}" \
        --valid "$text/valid" --output "$ranker"
    parts+=(--ranker "$ranker" --test "$text/$subset")
    keep "$answers/strangers.log" "$bin/mtn-suggest" "${parts[@]}" --no-history
    keep "$answers/strangers-long.log" "$bin/mtn-suggest" "${parts[@]}" --no-history --unrelated
    keep "$answers/known.log" "$bin/mtn-suggest" "${parts[@]}"
    keep "$answers/model.log" "$bin/fairseq-generate" "$data" "${plugin[@]}" --cpu --beam 10 \
        --nbest 10 --batch-size 64 --gen-subset "$subset" --path "$model/checkpoint_best.pt"
}

baselines() {
    local method
    for method in echo last session back back-first personal; do
        keep "$answers/$method.log" "$bin/mtn-yardstick" "$method" --train "$text/train" \
            --test "$text/$subset"
    done
    [ -z "${PECOS:-}" ] || keep "$answers/pecos.log" "$PECOS" "$here/../aol_small/rival_pecos.py" \
        --train "$text/train" --test "$text/$subset"
}

score() {
    local systems=() lists=() name
    for name in echo last session back back-first pecos model strangers strangers-long \
        personal known; do
        [ ! -e "$answers/$name.log" ] || systems+=("$name=$answers/$name.log")
    done
    for name in back model strangers strangers-long known; do lists+=("$name=$answers/$name.log"); done
    keep "$answers/scores.txt" "$bin/mtn-evaluate" "${systems[@]}" --test "$text/$subset" \
        --train "$text/train" --baseline back --baseline personal --json "$answers/scores.json"
    keep "$answers/shares.txt" "$bin/mtn-judge" shares "${lists[@]}" --test "$text/$subset" \
        --train "$text/train"
    cat "$answers/scores.txt" "$answers/shares.txt"
}

for split; do
    folder=$work/$split answers=$work/$split/$subset
    text=$folder/text data=$folder/data-bin model=$folder/model
    counts=$folder/next-queries ranker=$folder/ranker
    mkdir -p "$answers"
    # One by one: behind `&&`, a failure within a function would not stop the script.
    prepare
    train
    suggest
    baselines
    score
done
