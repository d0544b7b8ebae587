"""The plan of an experiment: what it compares, and how."""

from typing import Dict, List, NamedTuple, Sequence

from recipes import ListMaker, Settings, System


class Plan(NamedTuple):
    """Settings shared by all systems of an experiment.

    Args:
        title: of the report
        about: a sentence at the top of the report: data, machine, budget
        systems: by name
        suggesters: by name; the model of their beam is `beam_of`
        beam_of: one of the systems
        pecos: a Python with libpecos, for the rival; "" to leave it out
        settings: learning rate and dropout by system; missing ones are searched on validation data
        training: flags of fairseq-train
        updates: of the flat Transformer; the others train for the same time; 0 if `training` has
            the
            duration
        rate_updates: the same, for a try of a learning rate
        generation: flags of fairseq-generate
        preparation: flags of mtn-log-to-sessions
        threshold: words seen less often in training are <unk>
        pieces: number of word pieces, for systems that use them
        seeds: number of seeds
        checkpoint: the checkpoint of each training that is used
        dropouts: candidates for the choice on validation data
        sample_lines: lines of the test text that the report shows; they are people's queries, so
            check them first
        attention_of: the system whose session-level attention the report shows for these lines
    """

    title: str
    about: str
    systems: Dict[str, System]
    suggesters: Dict[str, ListMaker]
    beam_of: str
    pecos: str
    settings: Dict[str, Settings]
    training: str
    updates: int
    rate_updates: int
    generation: str
    preparation: List[str]
    threshold: int
    pieces: int
    seeds: int
    checkpoint: str = "checkpoint_best.pt"
    dropouts: Sequence[float] = ()
    sample_lines: Sequence[int] = ()
    attention_of: str = "mtn"
