"""Bad text, data and checkpoints through the real commands, each a process of its own.

Every error is one line with its place and a remedy, the exit code is not 0, and no partial file
stays behind.
"""

import re
import shlex
import shutil
import sys
from pathlib import Path
from zipfile import ZipFile

import processes
import pytest

from mtn_preprocess.commands.check_text import main as check_text

ROOT = Path(__file__).parents[2]
PLUGIN = ["--user-dir", ROOT / "mtn_fairseq", "--task", "session_to_query"]
SIZES = ["--level-sizes", "6,3"]
MTN = ["--arch", "mtn_tiny", "--level-layers", "1,1"]
CHANNELS = [
    "--encoder-embed-dim",
    "16",
    "--encoder-ffn-embed-dim",
    "16",
    "--encoder-attention-heads",
    "2",
]

GOOD = [  # the last one has more queries than SIZES
    ("cheap flights", "cheap flights to paris"),
    ("cheap flights <q> cheap flights to paris", "paris hotels"),
    ("red shoes", "red running shoes"),
    ("red <q> red shoes <q> red running shoes <q> shoes", "blue shoes"),
]
BAD = {  # name: lines of the source, lines of the target, where, what
    "empty_query": ("a b\na <q> <q> b\n", "c\nd\n", "session:2", "empty query"),
    "only_separators": ("a\nb\n<q> <q>\n", "c\nd\ne\n", "session:3", "only separators"),
    "empty_line": ("a\n\nb\n", "c\nd\ne\n", "session:2", "empty line"),
    "lengths_differ": ("a\nb\nc\n", "d\ne\n", "session:3", "3 lines, but .*next has 2"),
    "not_utf8": (b"a\ncaf\xe9\n", b"b\nc\n", "session:2", "not UTF-8 at byte 4"),
    "empty_target": ("a\nb\n", "c\n\n", "next:2", "empty query"),
    "symbol": ("a\nb <pad> c\n", "c\nd\n", "session:2", "<pad> in the text"),
    "byte_order_mark": ("\ufeffa\nb\n", "c\nd\n", "session:1", "a byte order mark"),
    "typed_separator": ("a\nb\n", "c\nd <q> e\n", "next:2", "a separator in the next query"),
}


def run(command, *arguments):
    """Run an installed command outside the source tree."""
    line = shlex.join(map(str, (command, *arguments)))
    return processes.run(line, status=processes.ANY, folder="/", PYTHONWARNINGS="ignore")


def succeeds(*command):
    done = run(*command)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def fails(pattern, *command):
    """The command ends with this one-line error and prints no other error."""
    done = run(*command)
    said = done.stderr.strip().splitlines()
    assert done.returncode not in (0, None), done.stdout
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert said and re.search(pattern, said[-1]), f"{pattern}\nis not in\n{done.stderr}"
    assert "; " in said[-1], "no remedy"
    logged = re.compile(r"([\d: -]+\| )?(DEBUG|INFO|WARNING)\b")  # some log lines go to stderr
    assert all(map(logged.match, said[:-1])), done.stderr


def write(folder, name, source, target):
    """`name.session` and `name.next`; the path without the ending."""
    folder.mkdir(exist_ok=True)
    for ending, text in (("session", source), ("next", target)):
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        (folder / f"{name}.{ending}").write_bytes(data)
    return folder / name


def write_pairs(folder, name, pairs):
    return write(folder, name, *("".join(f"{line}\n" for line in side) for side in zip(*pairs)))


def binarise(train, destination, *more):
    languages = ["-s", "session", "-t", "next", "--joined-dictionary"]
    return ["fairseq-preprocess", *languages, "--trainpref", train, "--destdir", destination, *more]


def train(data, save, *more):
    once = ["--cpu", "--max-update=1", "--batch-size=4", "--optimizer=adam", "--lr=0.1"]
    once += ["--num-workers=0", "--no-epoch-checkpoints"]
    return ["fairseq-train", data, *PLUGIN, *once, "--save-dir", save, *more]


def generate(data, checkpoint, *more):
    few = ["--cpu", "--beam", "2", "--batch-size", "4", "--num-workers", "0"]
    return ["fairseq-generate", data, *PLUGIN, "--path", checkpoint, *few, *more]


# --- text -----------------------------------------------------------------------------------------


def bad_text(tmp_path, name):
    source, target, place, reason = BAD[name]
    prefix = write(tmp_path, "train", source, target)
    return prefix, rf"^{re.escape(str(prefix))}\.{place}: .*{reason}.*; "


@pytest.mark.parametrize("name", BAD)
def test_check_text_names_the_place(tmp_path, name):
    prefix, message = bad_text(tmp_path, name)
    with pytest.raises(SystemExit, match=message) as error:
        check_text([str(prefix)])
    assert "\n" not in str(error.value)


def test_check_text_as_a_process(tmp_path):
    prefix, message = bad_text(tmp_path, "empty_query")
    good = write_pairs(tmp_path, "good", GOOD)
    fails(message, sys.executable, "-m", "mtn_preprocess.commands.check_text", good, prefix)


@pytest.mark.parametrize(
    "name", sorted(set(BAD) - {"empty_target", "byte_order_mark"})
)  # seconds each
def test_preprocess_names_the_place_and_writes_nothing(tmp_path, name):
    prefix, message = bad_text(tmp_path, name)
    fails(message, *binarise(prefix, tmp_path / "bin", *PLUGIN))
    written = {path.name for path in (tmp_path / "bin").glob("*")}
    assert written <= {"preprocess.log"}


def test_preprocess_refuses_an_empty_test_set(work, data, tmp_path):
    """With --srcdict, with which fairseq does not let the task check text."""
    empty = write(tmp_path, "test", "", "")
    known = [*PLUGIN, "--srcdict", data / "dict.session.txt", "--testpref", empty]
    command = binarise(work / "text/train", tmp_path / "bin", *known)
    fails(rf"^{re.escape(str(empty))}\.session: no pairs; ", *command)


# --- binarised data -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("bad")


@pytest.fixture(scope="module")
def data(work):
    """Good data as train, valid and test; under other names, bad data that fairseq accepts."""
    good = write_pairs(work / "text", "train", GOOD)
    folder, unchecked = work / "bin", work / "unchecked"
    small = write_pairs(work / "text", "valid", GOOD[:3])
    succeeds(*binarise(good, folder, *PLUGIN, "--validpref", small, "--testpref", good))
    names = ["empty_query", "lengths_differ", "empty_target"]
    bad = ",".join(str(write(work / "text", name, *BAD[name][:2])) for name in names)
    dictionary = ["--srcdict", folder / "dict.session.txt"]
    succeeds(*binarise(good, unchecked, *dictionary, "--validpref", bad))
    for number, name in enumerate(names):
        for path in unchecked.glob(f"valid{number or ''}.*"):
            shutil.copy(path, folder / f"{name}.{path.name.split('.', 1)[1]}")
    return folder


@pytest.fixture(scope="module")
def model(work, data):
    """(checkpoint, log) of a training with the default `--oversize truncate`."""
    log = succeeds(*train(data, work / "mtn", *MTN, *CHANNELS, *SIZES))
    return work / "mtn" / "checkpoint_last.pt", log


def test_truncating_is_counted(data, model):
    _, log = model
    place = re.escape(f"{data}/train.session-next.session")
    assert re.search(rf"{place}: 1 of 4 sessions are larger .*\(first: line 4", log)


def test_generate_truncates_too(data, model):
    log = succeeds(*generate(data, model[0], *SIZES))
    assert "test.session-next.session: 1 of 4 sessions are larger" in log
    assert len(re.findall("^H-", log, re.MULTILINE)) == 4  # no session lost


def test_train_refuses_too_many_queries(data, tmp_path):
    refuse = [*MTN, *CHANNELS, *SIZES, "--oversize", "refuse"]
    message = r"/train\.session-next\.session:4: .*--level-sizes 6,3 .*; .*--oversize truncate"
    fails(message, *train(data, tmp_path / "save", *refuse))
    assert not list(tmp_path.rglob("*.pt"))


def test_generate_refuses_too_many_tokens(data, model):
    refuse = ["--level-sizes", "6,4", "--max-source-positions", "6", "--oversize", "refuse"]
    message = r"/test\.session-next\.session:2: .*8 tokens.*--max-source-positions 6 allow; "
    fails(message, *generate(data, model[0], *refuse))


def test_generate_keeps_to_the_sizes_of_the_model(data, model):
    """Without --level-sizes the task would accept more than the model was built for."""
    done = run(*generate(data, model[0]))
    assert done.returncode == 0, done.stderr
    assert "1 of 4 sessions are larger" in done.stdout + done.stderr


def test_train_refuses_an_empty_query(data, tmp_path):
    bad = [*MTN, *CHANNELS, "--valid-subset", "empty_query"]
    fails(r"/empty_query\.session-next\.session:2: empty query.*; ", *train(data, tmp_path, *bad))


def test_generate_refuses_sides_of_different_length(data, model):
    message = r"/lengths_differ\.session-next\.session:3: 3 sessions but 2 next queries; "
    fails(message, *generate(data, model[0], *SIZES, "--gen-subset", "lengths_differ"))


def test_generate_refuses_an_empty_target(data, model):
    message = r"/empty_target\.session-next\.next:2: empty next query.*; "
    fails(message, *generate(data, model[0], *SIZES, "--gen-subset", "empty_target"))


def with_dictionary(data, folder, change):
    """A copy of the data with another dictionary."""
    shutil.copytree(data, folder)
    for path in folder.glob("dict.*.txt"):
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


def test_train_refuses_the_dictionary_of_another_task(data, tmp_path):
    folder = with_dictionary(data, tmp_path / "bin", lambda text: text.replace("<q>", "der"))
    message = rf"^{re.escape(str(folder))}/dict\.session\.txt: no <q> in the dictionary.*; "
    fails(message, *train(folder, tmp_path / "save", *MTN, *CHANNELS))


# --- checkpoints ----------------------------------------------------------------------------------


def test_commands_refuse_the_checkpoint_of_another_dictionary(data, model, tmp_path):
    """Even of the same size, with the words in another order."""

    def reverse(text):
        separators, words = text.splitlines()[:2], text.splitlines()[2:]
        return "\n".join([*separators, *reversed(words)]) + "\n"

    longer = with_dictionary(data, tmp_path / "longer", lambda text: text + "word 1\n")
    folder = with_dictionary(data, tmp_path / "bin", reverse)
    message = r"^{}/dict\.session\.txt: not the dictionary .* checkpoint .*; use the data folder"
    fails(message.format(longer), *generate(longer, model[0], *SIZES))
    fails(message.format(folder), *generate(folder, model[0], *SIZES))
    flags = [*MTN, *CHANNELS, *SIZES, "--finetune-from-model", model[0]]
    fails(message.format(folder), *train(folder, tmp_path / "save", *flags))
    assert not list((tmp_path / "save").glob("*.pt"))


def test_generate_refuses_a_checkpoint_with_one_bit_changed(data, model, tmp_path):
    content = bytearray(Path(model[0]).read_bytes())
    with ZipFile(model[0]) as archive:  # within a weight: between the parts is padding
        largest = max(archive.infolist(), key=lambda part: part.file_size)
        weight = archive.read(largest)
    content[content.index(weight) + len(weight) // 2] ^= 1
    changed = tmp_path / "checkpoint.pt"
    changed.write_bytes(content)
    message = rf"^{re.escape(str(changed))}: damaged checkpoint: .*; give a checkpoint"
    fails(message, *generate(data, changed, *SIZES))


def test_train_refuses_the_checkpoint_of_other_layers(data, model, tmp_path):
    other = ["--arch", "mtn_tiny", "--level-layers", "1,2", *CHANNELS, *SIZES]
    message = (
        rf"^{re.escape(str(model[0]))}: checkpoint of another architecture: .*; pass the --arch"
    )
    fails(message, *train(data, tmp_path / "save", *other, "--restore-file", model[0]))
    assert not list(tmp_path.rglob("*.pt"))


def test_train_refuses_the_checkpoint_of_another_architecture(data, tmp_path):
    stock = [*CHANNELS, "--arch", "transformer", "--encoder-layers", "1", "--decoder-layers", "1"]
    stock += ["--decoder-embed-dim", "16", "--decoder-ffn-embed-dim", "16"]
    succeeds(*train(data, tmp_path / "stock", *stock))
    checkpoint = tmp_path / "stock" / "checkpoint_last.pt"
    message = (
        rf"^{re.escape(str(checkpoint))}: checkpoint of another architecture: .*; pass the --arch"
    )
    command = train(data, tmp_path / "save", *MTN, *CHANNELS, "--restore-file", checkpoint)
    fails(message, *command)
