"""The engines that run the models of `synthetic_models`: sessions in, texts of a beam out.

Each loader imports what it needs by itself, so that a process of its own shows what it costs.
"""

import argparse
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional

BEAM, WORDS = 5, 4  # hypotheses; words of each, and its end: five steps


class Engine(NamedTuple):
    answer: Callable[[List[str]], List[Any]]
    process: int  # that answers
    weights: Path  # file or folder of the model
    child: Optional[Any] = None  # the process, where it is another one

    def end(self) -> None:
        """A child ends with its standard input."""
        if self.child is not None:
            self.child.stdin.close()
            self.child.stdout.read()
            self.child.wait()


class Scored(NamedTuple):
    text: str
    log_probabilities: Any  # of each token, the end's is the last


Loader = Callable[[Path, int, int], Engine]  # folder, threads, sessions per call


def torch_engine(folder: Path, threads: int, together: int) -> Engine:
    import torch

    from mtn_serving.torch_engine.trained_model import TrainedModel

    torch.set_num_threads(threads)
    trained = TrainedModel.load(folder / "mtn.pt", folder)
    beam = trained.beam_search(BEAM)
    beam.generator.min_len = beam.generator.max_len_b = WORDS

    def answer(sessions: List[str]) -> List[Any]:
        torch.set_num_threads(threads)
        return [each.texts for each in beam(trained.sources(sessions))]

    return Engine(answer, os.getpid(), folder / "mtn.pt")


def stock_engine(folder: Path, threads: int, together: int) -> Engine:
    search = stock_search(folder, threads)

    def answer(sessions: List[str]) -> List[Any]:
        return [[text for text, _ in hypotheses] for hypotheses in search(sessions)]

    return Engine(answer, os.getpid(), folder / "stock.pt")


def stock_search(folder: Path, threads: int) -> Callable[[List[str]], List[List[Scored]]]:
    """fairseq's `transformer`, `translation` task and generator."""
    import torch
    from fairseq import checkpoint_utils
    from fairseq.dataclass.configs import GenerationConfig

    if hasattr(torch.serialization, "add_safe_globals"):  # torch 2.6 wants to be asked
        torch.serialization.add_safe_globals([argparse.Namespace])
    models, cfg, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(folder / "stock.pt")], arg_overrides={"data": str(folder)}
    )
    models[0].eval().prepare_for_inference_(cfg)
    options = GenerationConfig(beam=BEAM, nbest=BEAM, min_len=WORDS, max_len_b=WORDS)
    generator = task.build_generator(models, options)
    dictionary = task.source_dictionary

    def search(sessions: List[str]) -> List[List[Scored]]:
        torch.set_num_threads(threads)
        tokens = [dictionary.encode_line(s, add_if_not_exist=False).long() for s in sessions]
        dataset = task.build_dataset_for_inference(tokens, [len(line) for line in tokens])
        batch = dataset.collater([dataset[i] for i in range(len(dataset))])
        found = task.inference_step(generator, models, batch)
        scored = [
            [Scored(dictionary.string(each["tokens"]), each["positional_scores"]) for each in beam]
            for beam in found
        ]
        return [scored[place] for place in torch.argsort(batch["id"]).tolist()]

    return search


def interactive_engine(folder: Path, threads: int, together: int) -> Engine:
    """`fairseq-interactive` with the same `mtn`, by pipe."""
    flags = f"--path {folder}/mtn.pt --beam {BEAM} --nbest {BEAM}"
    return interactive(folder, f"{flags} --min-len {WORDS} --max-len-b {WORDS}", threads, together)


def interactive(data: Path, flags: str, threads: int, together: int) -> Engine:
    from mtn_preprocess.commands.user_dir import plugin_folder

    command = Path(sys.executable).with_name("fairseq-interactive")
    line = (
        f"{command} {data} --user-dir {plugin_folder()} --task session_to_query --cpu {flags}"
        f" --buffer-size {together} --batch-size {together}"
    )
    words = flags.split()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": str(threads)}
    beam = int(words[words.index("--nbest") + 1])
    checkpoint = Path(words[words.index("--path") + 1])
    process = subprocess.Popen(
        line.split(),
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )

    def answer(sessions: List[str]) -> List[Any]:
        assert len(sessions) == together
        send(process, sessions)
        return [
            [text_of_hypothesis(process, at == beam - 1) for at in range(beam)] for _ in sessions
        ]

    return Engine(answer, process.pid, checkpoint, process)


def send(process: Any, lines: List[str]) -> None:
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()


def read_line(process: Any) -> str:
    line = process.stdout.readline()
    assert line, f"{process.args} ended"
    return line


def text_of_hypothesis(process: Any, last: bool) -> str:
    """The scores of its words come last."""
    text = ""
    while not (line := read_line(process)).startswith("P-"):
        if line.startswith("D-"):
            text = line.rstrip("\n").split("\t")[2]
    return text


def onnx_engine(number_type: str, folder: Path, threads: int, together: int) -> Engine:
    from mtn_serving.onnx_engine.exported_model import ExportedModel

    exported = ExportedModel.load(folder / f"onnx-{number_type}", threads)
    exported.max_words = WORDS
    search = exported.beam_search(BEAM)
    weights = folder / f"onnx-{number_type}"

    def answer(sessions: List[str]) -> List[Any]:
        return [each.texts for each in search(exported.sources(sessions))]

    return Engine(answer, os.getpid(), weights)


def ctranslate2_engine(number_type: str, folder: Path, threads: int, together: int) -> Engine:
    import ctranslate2

    weights = folder / f"ctranslate2-{number_type}"
    translator = ctranslate2.Translator(
        str(weights), compute_type=number_type, inter_threads=1, intra_threads=threads
    )
    steps = WORDS + 1  # the others compute the end as well; here hypotheses have one word more

    def answer(sessions: List[str]) -> List[Any]:
        found = translator.translate_batch(
            [session.split() for session in sessions],
            beam_size=BEAM,
            num_hypotheses=BEAM,
            min_decoding_length=steps,
            max_decoding_length=steps,
        )
        return [[" ".join(words) for words in each.hypotheses] for each in found]

    return Engine(answer, os.getpid(), weights)


STOCK, CTRANSLATE2 = "stock fairseq (flat)", "CTranslate2 (flat)"
ENGINES: Dict[str, Loader] = {
    "torch": torch_engine,
    "fairseq-interactive": interactive_engine,
    STOCK: stock_engine,
    "ONNX Runtime, float32": partial(onnx_engine, "float32"),
    "ONNX Runtime, int8": partial(onnx_engine, "int8"),
    f"{CTRANSLATE2}, float32": partial(ctranslate2_engine, "float32"),
    f"{CTRANSLATE2}, int8": partial(ctranslate2_engine, "int8"),
}
