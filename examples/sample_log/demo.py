#!/usr/bin/env python3
"""From a raw search log to a bundle that suggests queries, with commands you can run yourself.

Each step prints its command. All output is in --output, which is recreated. Flags not listed here
go to fairseq-train, for example --decoder-context query.
"""

import argparse
import json
import shlex
import time
from pathlib import Path

import steps

from mtn_preprocess.files.result_file import write_result_file


def main() -> None:
    args = parse_args()
    run = steps.new_folder(args.output.resolve())
    started = time.time()

    steps.title(f"1/7  A sample log in AOL's format, seed {args.log_seed}")
    log = steps.make_log(run, args.users, args.log_seed)
    steps.show_first_lines(log, 6)

    steps.title("2/7  Log -> sessions -> pairs of (session so far, next query)")
    steps.find_sessions(run, args.history if args.levels == 3 else 0)
    steps.show_first_lines(run / "text/train.session", 3)
    steps.show_first_lines(run / "text/train.next", 3)

    steps.title("3/7  Text -> binary, with one dictionary for both sides")
    steps.binarise(run)

    steps.title(f"4/7  Train a {args.levels}-level Multiresolution Transformer")
    layers = "2,1" if args.levels == 2 else "2,1,1"
    flags = (
        f"--arch mtn_tiny --level-layers {layers} --lr 0.002 --criterion cross_entropy"
        f"{'' if args.no_copying else ' --copy-attention'} --validate-interval-updates 1000"
        " --encoder-normalize-before --decoder-normalize-before --share-decoder-input-output-embed "
    )
    steps.train(run, flags + shlex.join(args.train_flags), args.updates, args.seed, into=run)

    steps.title("5/7  Suggest 5 next queries for every test session; count, for comparison")
    pairs = steps.suggest(run, into=run)
    counted = steps.suggest_by_counting(run, "session", run / "counting")

    steps.title("6/7  What came out")
    print_suggestions(pairs)
    scores = steps.measure(pairs, run / "text/test")
    print_scores(scores)
    scores["by_place"] = {
        "counting": steps.exact_by_place(counted),
        "model": steps.exact_by_place(pairs),
        "best": steps.best_by_place(pairs),
    }
    print_by_place(scores["by_place"])

    steps.title("7/7  One folder to serve: model, counts and ranker")
    bundle = steps.make_bundle(run)
    scores["seconds"] = round(time.time() - started)
    write_result_file(str(run / "scores.json"), json.dumps(scores, indent=2) + "\n")
    print(f"\n{scores['seconds']} seconds in all; everything is in {run}. Try it:")
    print(f"  mtn-serve {bundle}      # or: make serve; a page to type into")
    print(f"  mtn-suggest --bundle {bundle} --session 'london hotels <q> paris'")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add = parser.add_argument
    add("--output", type=Path, default=steps.ROOT / "runs/demo", help="folder to write")
    add("--levels", type=int, choices=(2, 3), default=2, help="3: earlier sessions")
    add("--history", type=int, default=3, help="earlier sessions, at 3 levels")
    add("--users", type=int, default=24000, help="users in the sample log")
    add("--log-seed", type=int, default=1, help="seed of the sample log")
    add("--seed", type=int, default=1, help="seed of the training")
    add("--updates", type=int, default=3000, help="training updates")
    add("--no-copying", action="store_true", help="train without --copy-attention")
    args, args.train_flags = parser.parse_known_args()
    return args


def print_suggestions(pairs: list, count: int = 12) -> None:
    """Print a dozen sessions, spread over the test set, with the real next query."""
    for pair in pairs[:: max(1, len(pairs) // count)][:count]:
        print("\n  " + pair.session.replace(" <session> ", "  ||  ").replace(" <q> ", "  >  "))
        print(f"      asked next: {pair.next_query}")
        for rank, suggestion in enumerate(pair.ranked, 1):
            print(f"    {'✓' if suggestion == pair.next_query else ' '} {rank}. {suggestion}")


def print_scores(scores: dict) -> None:
    margin = scores["exact"] - scores["best_last_query"]
    print(f"\nExact match over all {scores['pairs']} test pairs, first suggestion:")
    print(f"  best possible with the last query only  {scores['best_last_query']:5.1f} %")
    print(f"  ... and how many queries came before    {scores['best_last_and_place']:5.1f} %")
    print(f"  this model                              {scores['exact']:5.1f} %")
    print(f"  best possible with the whole session    {scores['best_whole_session']:5.1f} %")
    print(
        f"Hit@5 {scores['hit@5']:.1f} %, MRR@5 {scores['mrr@5']:.1f} %, BLEU {scores['bleu']:.2f}, "
        "1/2/3/4-gram " + "/".join(f"{scores[f'{n}-gram']:.1f}" for n in range(1, 5))
    )
    verdict = "is ahead of" if margin > 0 else "is NOT ahead of"
    print(f"The model {verdict} anything that reads the last query only, by {margin:.1f} points.")


def print_by_place(by_place: dict) -> None:
    places = by_place["model"]
    print("\nBy place of the next query in its session:" + "".join(f"{at:7}" for at in places))
    names = {"counting": "counting whole sessions", "model": "this model", "best": "best possible"}
    for key, name in names.items():
        print(f"  {name:40}" + "".join(f"{by_place[key][at]:7.1f}" for at in places))


if __name__ == "__main__":
    main()
