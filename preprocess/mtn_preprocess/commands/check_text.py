"""`mtn-check-text`: refuse bad session text before it is binarised."""

from typing import Optional, Sequence

from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.files.standard_streams import standard_output
from mtn_preprocess.text.text_checks import check_pairs


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-check-text",
        description="Check session text (PREFIX.session and PREFIX.next) before it is binarised: "
        "UTF-8, as many sources as targets, no empty query, no fairseq symbol. Stops at the "
        "first fault with its file, line and remedy.",
    )
    parser.add_argument("prefix", nargs="+", help="path without ending, such as text/train")
    parser.add_argument(
        "-s",
        "--source-lang",
        default="session",
        help="ending of the session files (default: session)",
    )
    parser.add_argument(
        "-t",
        "--target-lang",
        default="next",
        help="ending of the next-query files (default: next)",
    )
    args = parser.parse_args(argv)
    with standard_output() as out:
        for prefix in args.prefix:
            pairs = check_pairs(prefix, args.source_lang, args.target_lang)
            out.write(f"{prefix}: {pairs} pairs, all well formed\n")


if __name__ == "__main__":
    main()
