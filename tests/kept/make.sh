#!/usr/bin/env bash
# bash make.sh FOLDER: makes these files with the commands that are on the PATH; see README.md.
set -euo pipefail
out=$1
export OMP_NUM_THREADS=1
mkdir -p "$out"; cd "$out"
mtn-sample-log --users 40 --seed 5 --output log.tsv
mtn-log-to-sessions log.tsv --output history --split 70,15,15 --history 1
mtn-log-to-sessions log.tsv --output flat --split 70,15,15
U="--user-dir $(mtn-user-dir) --task session_to_query"
for t in history flat; do
fairseq-preprocess $U --source-lang session --target-lang next --joined-dictionary --thresholdsrc 3 \
  --trainpref $t/train --validpref $t/valid --testpref $t/test --destdir data-$t > /dev/null
done
SMALL="--encoder-embed-dim 8"
TF="$SMALL --encoder-ffn-embed-dim 8 --encoder-attention-heads 2 --decoder-layers 1 --decoder-ffn-embed-dim 8 --decoder-attention-heads 2"
train() { # name data flags
  fairseq-train data-$2 $U --cpu --optimizer adam --lr 0.01 --max-tokens 500 --max-update 100 --seed 1 --no-epoch-checkpoints \
   --no-save-optimizer-state --disable-validation --num-workers 0 --save-interval 1000 --save-dir save-$1 ${@:3} > train-$1.log 2>&1 
  mv save-$1/checkpoint_last.pt $1.pt; rm -r save-$1
}
train mtn flat --arch mtn --level-layers 1,1 $TF
train mtn_copying flat --arch mtn --level-layers 1,1 $TF --copy-attention
train mtn_linear flat --arch mtn --level-layers 1,1 $TF --query-projection linear --decoder-context query --encoder-normalize-before --decoder-normalize-before
train mtn_3level history --arch mtn --level-layers 1,1,1 $TF
train transformer_session flat --arch transformer_session $TF --encoder-layers 1 --copy-attention
REC="--encoder-embed-dim 8 --encoder-hidden-size 8"
train seq2seq_attn flat --arch seq2seq_attn --copy-attention --source-context last $REC
train hlstm flat --arch hlstm $REC
for pt in *.pt; do
  name=${pt%.pt}; data=data-flat; [ $name = mtn_3level ] && data=data-history
  fairseq-generate $data $U --path $pt --cpu --beam 4 --nbest 2 --max-len-b 10 2>/dev/null | grep -E '^[SHP]-' > $name.generated
done
mtn-count-next --train flat/train --output counts
mtn-fit-ranker --model mtn_copying.pt --data data-flat --counts counts --valid flat/valid --beam 4 --output ranker > /dev/null 2>&1
mtn-suggest --model mtn_copying.pt --data data-flat --counts counts --ranker ranker --beam 4 --json < flat/test.session > suggested.jsonl 2>/dev/null
cp flat/test.session .
rm -rf log.tsv train-*.log history flat data-*/{train,valid}* data-*/preprocess.log
