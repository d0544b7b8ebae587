"""`mtn-architectures`: the plugin's architectures and their sizes."""

import logging
import warnings
from typing import Optional, Sequence

from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.files.standard_streams import standard_output

PAPER_VOCABULARY = 76604


def main(argv: Optional[Sequence[str]] = None) -> None:
    parser = CommandParser(
        prog="mtn-architectures",
        description="Print the architectures of this package with their numbers of parameters.",
    )
    parser.add_argument(
        "--vocabulary",
        type=int,
        default=PAPER_VOCABULARY,
        metavar="V",
        help="symbols in the dictionary (default: %(default)s, the paper's for AOL)",
    )
    args = parser.parse_args(argv)
    warnings.simplefilter("ignore")  # from fairseq and hydra
    logging.disable(logging.WARNING)
    from .registered import build, parameters, registered_architectures, without_allocating

    with standard_output() as out:
        out.write(f"| architecture | parameters (V = {args.vocabulary:,}) ")
        out.write("| outside embedding and output |\n|---|---|---|\n")
        for name in sorted(registered_architectures()):
            with without_allocating():
                count, body = parameters(build(name, args.vocabulary), args.vocabulary)
            out.write(f"| `{name}` | {count:,} | {body:,} |\n")
            out.flush()  # building a model takes a while


if __name__ == "__main__":
    main()
