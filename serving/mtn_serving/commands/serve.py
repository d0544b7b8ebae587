"""`mtn-serve`: serve a bundle over HTTP."""

import argparse
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Callable, Optional, Sequence

from mtn_preprocess.commands.flag_types import at_least, at_least_0, at_least_1
from mtn_preprocess.commands.interrupts import interruptible
from mtn_preprocess.commands.notes import notes_of
from mtn_preprocess.commands.parser import CommandParser
from mtn_preprocess.errors import InputError

from ..service.settings import Settings

KEY_VARIABLE = "MTN_API_KEY"
SEARCH_TERMS = "{searchTerms}"  # of OpenSearch
_MAX_PORT = 65535
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?")
_OWN_PORTS = {"http": ":80", "https": ":443"}

_say = notes_of("mtn-serve")


@interruptible
def main(argv: Optional[Sequence[str]] = None) -> None:
    args = _parser().parse_args(argv)
    settings = _settings(args)
    for package in ("fastapi", "prometheus_client", "uvicorn"):
        if find_spec(package) is None:
            remedy = "install it: pip install '.[serve]'"
            raise InputError(f"{package} is not installed here", remedy)
    from ..service.workers import bind, serve, serve_in_workers

    sock = bind(args.host, args.port)
    host, port = sock.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    def ready() -> None:
        if settings.unrelated:
            _say_unranked(settings)
        _say(f"ready at {address}")

    if args.workers == 1:
        serve(settings, sock, ready)
    else:
        serve_in_workers(settings, sock, args.workers, ready)


def _say_unranked(settings: Settings) -> None:
    from ..service.bundles import has_ranker  # lazy import: keeps a supervisor small

    for folder in (settings.bundle, settings.challenger):
        if folder is not None and not has_ranker(folder):
            _say(f"{folder}: it has no ranker, so --unrelated does not change its lists")


def _settings(args: argparse.Namespace) -> Settings:
    return Settings(
        bundle=args.bundle,
        challenger=args.challenger,
        share=args.share,
        block_list=args.block_list,
        unrelated=args.unrelated,
        max_batch=args.max_batch,
        max_queue=args.max_queue,
        deadline=args.deadline_ms / 1000,
        cached=args.cache,
        api_key=os.environ.get(KEY_VARIABLE) or None,
        origins=tuple(map(_origin, args.origin)),
        search_url=_template(args.search_url),
        events=args.events,
        keep_days=args.keep_days,
    )


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="mtn-serve",
        description="Serve suggestions and completions of a bundle over HTTP, with a page to try "
        "them at /.",
        epilog=f"The environment variable {KEY_VARIABLE} has the API key, if there is one. SIGHUP "
        "loads a new version of the bundle; SIGTERM finishes accepted requests and exits. "
        "Example: mtn-serve my-bundle --port 8000",
    )
    add = parser.add_argument
    add("bundle", type=Path, metavar="BUNDLE", help="folder of mtn-export, or of mtn-count-next")
    add("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    add(
        "--port",
        type=at_least(0, _MAX_PORT),
        default=8000,
        help="0 for any that is free (default: %(default)s)",
    )
    add("--block-list", type=Path, metavar="FILE", help="nothing with these words, in any bundle")
    add(
        "--unrelated",
        action="store_true",
        help="behind the rest of a ranked list, suggest what has nothing to do with the session, "
        "too: long lists, most of them popular queries",
    )
    add("--search-url", metavar="URL", help="of the site's own search, with {searchTerms}")
    add(
        "--origin",
        action="append",
        default=[],
        metavar="URL",
        help="allow pages of this site (CORS), such as https://example.org, without a path; * for "
        "any site; repeatable",
    )
    _add_load(parser.add_argument_group("load").add_argument)
    _add_experiment(parser.add_argument_group("experiments and events").add_argument)
    return parser


def _add_load(add: Callable) -> None:
    add("--workers", type=at_least_1, default=1, metavar="N", help="processes (default: 1)")
    add(
        "--deadline-ms",
        type=at_least_1,
        default=500,
        metavar="MS",
        help="answer within this time; if the model is too slow, from counts (default: "
        "%(default)s)",
    )
    add(
        "--max-batch",
        type=at_least_1,
        default=Settings.max_batch,
        metavar="N",
        help="requests that run together; 1 for one by one (default: %(default)s)",
    )
    add(
        "--max-queue",
        type=at_least_1,
        default=Settings.max_queue,
        metavar="N",
        help="waiting requests; further ones get 503 (default: %(default)s)",
    )
    add(
        "--cache",
        type=at_least_0,
        default=Settings.cached,
        metavar="N",
        help="lists kept in memory, of people without a history (default: %(default)s)",
    )


def _add_experiment(add: Callable) -> None:
    add("--challenger", type=Path, metavar="BUNDLE", help="another bundle, for some sessions")
    add(
        "--share",
        type=_share,
        default=Settings.share,
        metavar="S",
        help="share of sessions (with an id) for the challenger, 0 to 1 (default: %(default)s)",
    )
    add(
        "--events",
        type=Path,
        metavar="FOLDER",
        help="record events in this folder (default: none)",
    )
    add(
        "--keep-days",
        type=at_least_1,
        default=Settings.keep_days,
        metavar="N",
        help="delete event files after N days (default: %(default)s)",
    )


def _template(text: Optional[str]) -> Optional[str]:
    """Refuse a URL without SEARCH_TERMS, which browsers replace with the query."""
    if text is not None and SEARCH_TERMS not in text:
        remedy = f"write it where the query belongs: https://example.org/search?q={SEARCH_TERMS}"
        raise InputError(f"no {SEARCH_TERMS} in it", remedy, f"--search-url {text}")
    return text


def _origin(text: str) -> str:
    """The origin as browsers send it: in lower case, without a slash and without the usual port."""
    if text == "*":  # any site
        return text
    found = _ORIGIN.fullmatch(text.lower())
    if found is None:
        remedy = "write scheme and host, and no path, such as https://example.org"
        raise InputError("no origin of web pages", remedy, f"--origin {text}")
    scheme, host, port = found.groups("")
    return f"{scheme}://{host}{'' if port == _OWN_PORTS.get(scheme) else port}"


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be from 0 to 1, not {text}")
    return value


if __name__ == "__main__":
    main()
