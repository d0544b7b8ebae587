"""Find the commands in README and docs, and split them as a shell would."""

import re
import shlex

FENCE = re.compile(r"^ *(```|~~~)(\w*)\n(.*?)^ *\1", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`((?:mtn|fairseq)-[a-z-]+(?: [^`]+)?)`")
NAME = re.compile(r"(?:mtn|fairseq)-[a-z-]+|make")
INNER = re.compile(r"[<$]\(([^()]*)\)")  # <(…) and $(…)
# Settings and launchers: OMP_NUM_THREADS=1, time, torchrun with its flags, …
BEFORE = re.compile(r"\w+=.*|(/usr/bin/)?time|do|srun|torchrun|-.*|\d+|\w+:\d+|c10d")
LEFT_OUT = re.compile(r"…|\$\w+")  # omissions of a page, and variables of a loop


def blocks(markdown, *languages):
    """Fenced blocks in these languages; "" for those without."""
    return [text for _, language, text in FENCE.findall(markdown) if language in languages]


def spans(markdown):
    """Inline code that begins with a command, outside fences."""
    return [" ".join(text.split()) for text in SPAN.findall(FENCE.sub("", markdown))]


def commands(block):
    """Words of each simple command of a block that is ours, fairseq's or make."""
    for line in re.sub(r"\\\n\s*", " ", block).split("\n"):
        yield from _simple_commands(re.sub(r"(^|\s)#\s.*", "", line))


def _simple_commands(line):
    for inner in INNER.findall(line):
        yield from _simple_commands(inner)
    # An inner command prints a file name; `which` prints that of a command.
    line = INNER.sub(lambda found: found[1].partition("which ")[2] or "FILE", line)
    for words in _split(line):
        start = next((at for at, word in enumerate(words) if NAME.fullmatch(word)), None)
        if start is not None and all(map(BEFORE.fullmatch, words[:start])):
            yield words[start:]


def _split(line):
    """Words of each simple command of a line, without redirections."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # output of a command, not a command
        return []
    found = [[]]
    for before, word in zip(["", *words], words):
        if set(word) <= set("|;&"):
            found.append([])
        elif not set(word) <= set("<>") and not (before and set(before) <= set("<>")):
            found[-1].append(word)
    return found
