"""`mtn-suggest`: lists of suggestions for a test set or for single sessions."""

import json
from collections import Counter
from typing import Iterable, Iterator, Optional, Sequence, TextIO

from mtn_evaluation.generate_log import write_suggestions
from mtn_preprocess.commands.flag_types import at_least_1
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.commands.time_left import TimeLeft
from mtn_preprocess.files.standard_streams import (
    standard_input,
    standard_output,
    utf8_lines,
)

from ..request import as_line, has_query
from ..suggester import Suggester
from .explanation_text import explanation_lines
from .personal_pairs import PersonalPairs
from .suggester_flags import add_suggester_flags, say_held_back, suggester_of

_say = notes_of("mtn-suggest")


def answer_test(
    suggester: Suggester, test: str, nbest: int, out: TextIO, use_history: bool = True
) -> None:
    suggester.check_text(test)
    personal = PersonalPairs(test, use_history, suggester.model_reads, _say)
    progress = TimeLeft(_say)
    held_back: Counter[str] = Counter()
    number = 0
    for batch in personal.batches():
        found = suggester.suggest_many([each.line for each in batch], nbest, held_back=held_back)
        for (pair, _), suggestions in zip(batch, found):
            ranked = [(each.query, each.score) for each in suggestions]
            write_suggestions(number, pair, ranked, out)
            number += 1
        progress("pairs", number, len(personal.pairs))
    # A last line, as in `fairseq-generate`: the output is complete, with lists of this length.
    out.write(f"Suggest {'+'.join(suggester.sources)} with nbest={nbest}: {number} pairs\n")
    say_held_back(held_back, _say)


def answer_lines(
    suggester: Suggester, lines: Iterable[str], nbest: int, out: TextIO, may_be_blank: bool = False
) -> None:
    """Answer each session at once: one line per suggestion, then an empty line.

    Args:
        may_be_blank: whether a line without a query gets only an empty line, so that answer n
            belongs to line n; otherwise it is refused
    """
    for line in lines:
        is_blank = may_be_blank and not has_query(line, suggester.reader)
        for each in [] if is_blank else suggester.suggest(line, nbest):
            out.write(f"{each.score:.4f}\t{each.source}\t{each.rule}\t{each.text}\n")
        out.write("\n")
        out.flush()


def explain_lines(suggester: Suggester, lines: Iterable[str], text: str, out: TextIO) -> None:
    """Write why the text is suggested for each session, or why it is not."""
    for line in lines:
        for each in explanation_lines(suggester.explain(line, text)):
            out.write(f"{each}\n")
        out.write("\n")
        out.flush()


def explain_in_json(suggester: Suggester, lines: Iterable[str], text: str, out: TextIO) -> None:
    for line in lines:
        answer = suggester.explain(line, text).as_dict()
        out.write(json.dumps(answer, ensure_ascii=False) + "\n")
        out.flush()


def answer_in_json(suggester: Suggester, lines: Iterable[str], nbest: int, out: TextIO) -> None:
    """Write one object per line, even for lines without a query: line n answers line n."""
    for line in lines:
        session, found = "", []
        if has_query(line, suggester.reader):
            session, found = as_line(line, suggester.reader), suggester.suggest(line, nbest)
        suggestions = [{**each._asdict(), "score": round(each.score, 6)} for each in found]
        answer = {"session": session, "suggestions": suggestions}
        out.write(json.dumps(answer, ensure_ascii=False) + "\n")
        out.flush()


def typed_lines() -> Iterator[str]:
    """The lines of standard input; one that is not UTF-8 is refused when it is read."""
    with standard_input(errors="surrogateescape") as lines:
        yield from utf8_lines(lines)


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-suggest",
        description="Suggest next queries from a model, counts, edits of the last query, the "
        "session and the person's past, ranked; over a test text in the format of "
        "fairseq-generate, or for sessions from the command line or standard input, one per line.",
        epilog="Example: mtn-suggest --model checkpoints/checkpoint_best.pt --data data-bin "
        "--counts next-queries --ranker ranker --test text/test > suggest.log",
    )
    add = parser.add_argument
    add("--bundle", metavar="FOLDER", help="of mtn-export: model, counts, ranker and rules in one")
    add_suggester_flags(parser)
    add(
        "--ranker", metavar="FOLDER", help="of mtn-fit-ranker; without it, one source after another"
    )
    add(
        "--unrelated",
        action="store_true",
        help="behind the rest of a ranked list, suggest what has nothing to do with the session, "
        "too: long lists and more hits, most of them popular queries",
    )
    add(
        "--test",
        metavar="PREFIX",
        help="PREFIX.session, PREFIX.next: answer all of its pairs; PREFIX.history, where it "
        "exists: what the same people asked before",
    )
    add(
        "--session",
        action="append",
        metavar="TEXT",
        help="answer this one: 'paris hotels <q> london', with earlier sessions of the same person "
        "'rome <session> paris hotels <q> london'; may be repeated",
    )
    add(
        "--explain",
        metavar="TEXT",
        help="instead of a list, print why this text is in it or is not: sources, counts, which "
        "query of the session mattered, what moved the ranker; with --session",
    )
    add("--nbest", type=at_least_1, default=10, metavar="N", help="at most (default: %(default)s)")
    add(
        "--json",
        action="store_true",
        help="answer each line with one JSON object, also lines without a query; not with --test",
    )
    add(
        "--verify",
        action="store_true",
        help="read all of --counts first and compare it with its checksums; with --test always",
    )
    args = parser.parse_args(argv)
    if args.test is not None and args.session is not None:
        parser.error("give --test or --session, not both")
    if args.test is not None and args.json:
        parser.error("--json answers lines, and mtn-evaluate reads what --test prints: give one")
    if args.explain is not None and args.session is None:
        parser.error("--explain is for one session: give --session")
    if args.test is None and args.no_history:
        parser.error("--no-history is for --test: give sessions without <session>")
    if args.unrelated and args.ranker is None and args.bundle is None:
        parser.error("--unrelated is for ranked lists: give --ranker")
    verify = args.verify or args.test is not None
    suggester = suggester_of(parser, args, args.ranker, verify, args.unrelated, args.bundle)
    with standard_output() as out:
        if args.test is not None:
            answer_test(suggester, args.test, args.nbest, out, not args.no_history)
            return
        lines = typed_lines() if args.session is None else args.session
        if args.explain is not None:
            explain_all = explain_in_json if args.json else explain_lines
            explain_all(suggester, lines, args.explain, out)
        elif args.json:
            answer_in_json(suggester, lines, args.nbest, out)
        else:
            answer_lines(suggester, lines, args.nbest, out, may_be_blank=args.session is None)


if __name__ == "__main__":
    main()
