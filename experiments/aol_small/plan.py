"""What an experiment compares, and in which way."""

from typing import Dict, List, NamedTuple, Sequence

from recipes import ListMaker, Settings, System


class Plan(NamedTuple):
    """What all systems of an experiment have in common.

    Args:
        title: of the report
        about: a sentence for its head: data, machine, budget
        systems: by name
        suggesters: by name; the model of their beam is that of `beam_of`
        beam_of: one of the systems
        pecos: a Python that has libpecos, for the rival; "" to leave it out
        settings: learning rate and dropout of each; searched on validation data where there is none
        training: flags of fairseq-train
        updates: of the flat Transformer, and of the others as many as take the same time; 0 where
            `training` says how long
        rate_updates: likewise, of a try of a learning rate
        generation: flags of fairseq-generate
        preparation: flags of mtn-log-to-sessions
        threshold: words seen less often in training are <unk>
        pieces: how many word pieces, for systems that read them
        seeds: how many
        checkpoint: of each training, the one that is asked
        dropouts: to choose from on validation data
        sample_lines: of the test text, that the report may show; people's queries, so look first
        attention_of: the system whose session level the report draws, for these lines
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
