#!/usr/bin/env bash
# Compare two levels with three on one log: same pairs, same words, same updates.
#
#   experiments/aol_levels/run.sh LOG WORK_FOLDER [SEED …]
#
# prepares and binarises LOG, trains the three models with each seed (default: 1 2 3), generates and
# scores. Existing results are kept, and an interrupted training continues. UPDATES=1500 and
# HISTORY=5 can be set; SPLIT=test scores the test data instead of the validation data.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
log=$1 work=$2
shift 2
seeds=("${@:-1 2 3}")
read -ra seeds <<< "${seeds[*]}"
updates=${UPDATES:-1500} history=${HISTORY:-5} split=${SPLIT:-valid}
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$([ -x "$root/.venv/bin/python" ] && echo "$root/.venv/bin/python" || echo python3)}
bin=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")
plugin=(--user-dir "$root/mtn_fairseq" --task session_to_query)
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-PASSIVE}"

text=$work/text data=$work/data-bin
[ -d "$text" ] || "$bin/mtn-log-to-sessions" "$log" --split-by time --split 80,10,10 \
    --history "$history" --users --output "$text"
if [ ! -e "$data/complete" ]; then
    "$bin/fairseq-preprocess" "${plugin[@]}" --source-lang session --target-lang next \
        --joined-dictionary --thresholdsrc 5 --trainpref "$text/train" --validpref "$text/valid" \
        --testpref "$text/test" --destdir "$data"
    touch "$data/complete"
fi

# A complete file or none: an interrupted generation is repeated.
keep() {
    local file=$1
    shift
    [ -e "$file" ] || { "$@" > "$file.part" && mv "$file.part" "$file"; }
}

train() {  # NAME SEED LEVEL_LAYERS LEVEL_SIZES
    "$bin/fairseq-train" "$data" "${plugin[@]}" --save-dir "$work/$1" --seed "$2" --arch mtn \
        --level-layers "$3" --level-sizes "$4" --copy-attention --encoder-embed-dim 128 \
        --encoder-ffn-embed-dim 256 --encoder-attention-heads 4 --share-decoder-input-output-embed \
        --query-projection vector --dropout 0.1 --criterion label_smoothed_cross_entropy \
        --label-smoothing 0.05 --optimizer fused_adam --adam-betas '(0.9, 0.98)' --clip-norm 1.0 \
        --lr 0.002 --lr-scheduler polynomial_decay --warmup-updates $((updates / 8)) \
        --total-num-update "$updates" --max-update "$updates" --batch-size 32 \
        --train-batches random --cpu --num-workers 0 --no-epoch-checkpoints \
        --log-format simple --log-interval 100
}

score() {  # NAME
    local flags=("$data" "${plugin[@]}" --path "$work/$1/checkpoint_best.pt" --gen-subset "$split" --cpu --batch-size 64)
    keep "$work/$1/$split.log" "$bin/fairseq-generate" "${flags[@]}" --beam 10 --nbest 10 --max-len-b 12
    keep "$work/$1/$split.scores" "$bin/fairseq-generate" "${flags[@]}" --score-reference
}

evaluate() {  # JSON_NAME "NAME …" [flags of mtn-evaluate …]
    local json=$work/$1.json name systems=() perplexities=()
    for name in $2; do
        systems+=("$name=$work/$name/$split.log")
        perplexities+=(--perplexity "$name=$work/$name/$split.scores")
    done
    shift 2
    "$bin/mtn-evaluate" "${systems[@]}" "${perplexities[@]}" "$@" --test "$text/$split" \
        --train "$text/train" --json "$json"
}

two=() control=() three=()
for seed in "${seeds[@]}"; do
    # Two levels on the current session; two levels on history and session as one long session;
    # three levels on history and session.
    train "two-$seed" "$seed" 2,1 12,10,1
    train "control-$seed" "$seed" 2,1 "12,10,$((history + 1))"
    train "three-$seed" "$seed" 2,1,1 "12,10,$((history + 1))"
    for name in two control three; do score "$name-$seed"; done
    evaluate "$split-$seed" "two-$seed control-$seed three-$seed" \
        --baseline "two-$seed" --baseline "control-$seed"
    two+=("two-$seed") control+=("control-$seed") three+=("three-$seed")
done
if [ ${#seeds[@]} -gt 1 ]; then  # the means over all seeds
    evaluate "$split" "${two[*]} ${control[*]} ${three[*]}" --baseline two --baseline control \
        --runs "two=$(IFS=,; echo "${two[*]}")" --runs "control=$(IFS=,; echo "${control[*]}")" \
        --runs "three=$(IFS=,; echo "${three[*]}")"
fi
