#!/usr/bin/env bash
# Train the paper's model on the data from prepare.sh, on all visible GPUs.
#
#   examples/aol/train.sh WORK_FOLDER [flags of fairseq-train …]
#
# writes WORK_FOLDER/checkpoints, and continues from there if called again. A later flag overrides
# an earlier one, so all flags below can be changed. LAUNCH="torchrun …" is put in front of
# fairseq-train; DATA="shard0:shard1" replaces WORK_FOLDER/data-bin.
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
work=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-$([ -x "$root/.venv/bin/python" ] && echo "$root/.venv/bin/python" || echo python3)}
bin=$(dirname "$("$python" -c 'import sys; print(sys.executable)')")
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-PASSIVE}"  # for a busy machine: docs/speed.md
export PATH="$bin:$PATH"  # so that the launcher is the one of this environment

# Section 5.2 of the paper: the schedule of the original Transformer, with its highest rate,
# (512 · 4000)^-1/2, after 4000 updates; smoothing 0.05 and 2 epochs (the paper also names 0.01 and
# 5). The paper does not give the batch size: with 4096 tokens, an epoch has about 4000 updates.
# shellcheck disable=SC2086  # LAUNCH is several words
exec ${LAUNCH:-} "$bin/fairseq-train" "${DATA:-$work/data-bin}" --save-dir "$work/checkpoints" \
    --user-dir "$root/mtn_fairseq" --task session_to_query --arch mtn_aol \
    --criterion label_smoothed_cross_entropy --label-smoothing 0.05 --max-epoch 2 \
    --optimizer adam --adam-betas '(0.9, 0.98)' --adam-eps 1e-9 \
    --lr 0.0007 --lr-scheduler inverse_sqrt --warmup-updates 4000 --warmup-init-lr 1e-7 \
    --max-tokens 4096 --save-interval-updates 1000 --keep-interval-updates 2 \
    --log-format simple --log-interval 100 --seed 1 "$@"
