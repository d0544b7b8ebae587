"""Small tables of counts, and bundles with samples, for tests of the page."""

from mtn_preprocess.text.session_pairs import Pair
from mtn_serving.commands.export import main as export
from mtn_serving.counting import count_next_queries

# Session so far -> next queries with their counts.
PAIRS = {
    "paris": ["paris hotels", "paris hotels", "paris flights"],
    "paris <q> paris hotels": ["london hotels", "london hotels", "london"],
    "paris hotels": ["london hotels", "rome hotels"],
    "london": ["london hotels", "london flights", "london flights"],
    "london hotels": ["rome hotels", "paris hotels"],
    "paris flights": ["london flights", "rome flights"],
}


def table(folder, pairs):
    """Write the table; return its folder."""
    rows = [Pair(session, query) for session, queries in pairs.items() for query in queries]
    count_next_queries(rows).save(folder)
    return folder


def bundle(folder, pairs, samples):
    """Writes a bundle of such a table, with sessions to try; returns its folder."""
    (folder / "samples").write_text("".join(f"{line}\n" for line in samples))
    counts = table(folder / "counts", pairs)
    flags = f"--counts {counts} --samples {folder}/samples --output {folder}/bundle"
    export(flags.split())
    return folder / "bundle"
