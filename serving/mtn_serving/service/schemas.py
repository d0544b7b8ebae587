"""Requests and answers, documented and validated."""

from typing import Annotated, Any, Dict, List, Literal, Optional, Union

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from ..completion.typed_prefix import MAX_TYPED

MAX_QUERIES = 50  # per session
MAX_SESSIONS = 200  # of a history
MAX_LENGTH = MAX_TYPED  # characters of a query
MAX_N = 50
MAX_REQUESTS = 64  # per batch
MAX_EVENTS = 100  # per request
MAX_DEADLINE_MS = 10_000


def _is_number(value: Any) -> Any:
    """Refuse values that Python accepts as numbers, but JSON does not."""
    if isinstance(value, (bool, str)):
        raise ValueError("should be a number")
    return value


Query = Annotated[str, StringConstraints(max_length=MAX_LENGTH)]
Queries = Annotated[List[Query], Field(max_length=MAX_QUERIES)]
SomeQueries = Annotated[List[Query], Field(min_length=1, max_length=MAX_QUERIES)]
NumberInAddress = Annotated[int, Field(ge=1, le=MAX_N)]  # URL parameters are always text
Number = Annotated[NumberInAddress, BeforeValidator(_is_number)]
Milliseconds = Annotated[int, Field(ge=1, le=MAX_DEADLINE_MS), BeforeValidator(_is_number)]
Name = Annotated[str, StringConstraints(max_length=100)]  # the maximum of UBI
Arm = Literal["champion", "challenger"]
Reason = Literal["deadline", "error"]  # of a list from counts alone


class Strict(BaseModel):
    """Unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class Context(Strict):
    """Fields that come with a session; none of them is kept."""

    history: Optional[Annotated[List[Queries], Field(max_length=MAX_SESSIONS)]] = Field(
        default=None, description="earlier sessions of the same person, oldest first"
    )
    session_id: Optional[Name] = Field(
        default=None,
        description="any text that stays the same for a session: it decides on the bundle",
    )
    bundle: Optional[Arm] = Field(
        default=None, description="ask this bundle, whatever the session id says"
    )
    deadline_ms: Optional[Milliseconds] = Field(
        default=None,
        description="milliseconds within which an answer is wanted; the default is a setting",
    )


class SuggestRequest(Context):
    session: SomeQueries = Field(
        description="queries of the session in progress, oldest first",
        examples=[["cheap flights", "cheap flights paris"]],
    )
    n: Number = Field(default=10, description="suggestions, at most")


class CompleteRequest(Context):
    session: Queries = Field(
        default=[], description="queries of the session so far; none at its start"
    )
    prefix: Query = Field(description="what is in the search box", examples=["cheap fl"])
    n: Number = Field(default=5, description="completions, at most")


class ExplainRequest(Context):
    session: SomeQueries = Field(description="as it was when the suggestion was made")
    suggestion: Query = Field(description="the suggestion in question, as its `query`")


class BatchRequest(Strict):
    requests: Annotated[List[SuggestRequest], Field(min_length=1, max_length=MAX_REQUESTS)]


class BundleName(BaseModel):
    name: Arm
    version: str = Field(description="changes whenever anything in the bundle changes")


class SuggestionAnswer(BaseModel):
    text: str = Field(description="to be shown")
    score: float = Field(description="falls within a rule; of a ranker, a probability")
    source: str = Field(description="where it came from")
    rule: str = Field(description="of its place in the list")
    query: str = Field(description="as the bundle spells it: for /v1/explain")


class Answer(BaseModel):
    suggestions: List[SuggestionAnswer]
    bundle: BundleName
    degraded: bool = Field(description="whether the list is from counts alone")
    reason: Optional[Reason] = Field(description="of a degraded list")
    query_id: str = Field(description="for events about this list")
    milliseconds: float = Field(description="from the arrival of the request to this answer")


class BatchAnswer(BaseModel):
    answers: List[Answer]


class ExplainAnswer(BaseModel):
    explanation: Dict[str, Any]
    read: List[int] = Field(
        description="places in `session`, from 0, of what is a query: `!!!` is none; the queries "
        "of the explanation are the last of these"
    )
    bundle: BundleName
    milliseconds: float


class SampleAnswer(BaseModel):
    session: List[str]
    history: List[List[str]] = Field(description="earlier sessions, oldest first")


class SamplesAnswer(BaseModel):
    samples: List[SampleAnswer] = Field(description="sessions to try; none unless it has some")
    bundle: BundleName


class Position(BaseModel):
    ordinal: Number = Field(description="place in the list, from 1")


class EventObject(BaseModel):
    object_id: Union[Annotated[str, StringConstraints(max_length=256)], int]


class EventAttributes(BaseModel):
    position: Optional[Position] = None
    object: Optional[EventObject] = None


class Event(BaseModel):
    """An event with the field names of User Behavior Insights (UBI) 1.3; others are dropped."""

    action_name: Literal["impression", "click", "search"] = Field(
        description="impression: a list was shown; click: one of it was chosen; search: a query "
        "was asked, typed to its end or chosen"
    )
    timestamp: Optional[Name] = Field(
        default=None, description="not kept: the server's clock counts"
    )
    application: Name = Field(
        default="", description="suggest, complete, …: rates are kept apart by it"
    )
    query_id: Optional[Name] = Field(default=None, description="of the answer; not of searches")
    session_id: Optional[Name] = None
    client_id: Optional[Name] = Field(
        default=None,
        description="of searches: whose query it is, the same in all sessions of a person or "
        "browser. People are counted by it",
    )
    message_type: Optional[Name] = None
    message: Optional[Query] = Field(default=None, description="of searches: the query")
    event_attributes: Optional[EventAttributes] = None


class EventsRequest(Strict):
    events: Annotated[List[Event], Field(min_length=1, max_length=MAX_EVENTS)]


class EventsAnswer(BaseModel):
    kept: int


class Health(BaseModel):
    status: Literal["ok", "stuck"]


class Ready(BaseModel):
    status: Literal["ready", "ending", "changed"]
    bundles: List[BundleName]


class Problem(BaseModel):
    detail: str


class FieldProblem(BaseModel):
    loc: List[Union[str, int]]
    msg: str
    type: str


class InvalidRequest(BaseModel):
    detail: List[FieldProblem]
