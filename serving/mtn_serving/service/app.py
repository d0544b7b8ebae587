"""The routes. `create_app(settings)` is the whole service as an ASGI application."""

import asyncio
import signal
import threading
import time
import uuid
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, AsyncIterator, Dict, List, Optional, Union

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST

from mtn_preprocess.errors import InputError

from . import opensearch, schemas
from .access import has_key, is_admin
from .answering import Ask, Explain, as_text, places_read
from .api_page import api_page
from .batching import Full, TooLate
from .bundles import ServedBundle
from .events import NotWritten
from .held_files import FilesChanged
from .limits import RETRY_AFTER, TOO_MANY, BoundedBodies, Guard, RefuseWhenFull
from .service import Service
from .settings import Settings

_JSON = "application/json"
PAGE = Path(__file__).parents[1] / "page"


def service_of(request: Request) -> Service:
    return request.app.state.service


# Dependencies are coroutines: FastAPI runs other functions in a thread, which is slower.


async def the_service(request: Request) -> Service:
    return service_of(request)


async def check_key(request: Request) -> None:
    key = service_of(request).settings.api_key
    if key is not None and not has_key(request, key):
        raise HTTPException(401, "no valid API key", {"WWW-Authenticate": "Bearer"})


async def check_admin(request: Request) -> None:
    if not is_admin(request, service_of(request).settings.api_key):
        raise HTTPException(403, "allowed only from this machine, or with the API key")


Responses = Dict[Union[int, str], Dict[str, Any]]  # by status, as OpenAPI has them
TheService = Annotated[Service, Depends(the_service)]
_ERRORS: Responses = {
    401: {"model": schemas.Problem, "description": "No valid API key"},
    408: {"model": schemas.Problem, "description": "The request took too long"},
    413: {"model": schemas.Problem, "description": "The request is too long"},
    422: {"model": schemas.InvalidRequest, "description": "Not a valid request"},
    400: {"model": schemas.Problem, "description": "Not JSON"},
    503: {
        "model": schemas.Problem,
        "description": "Full, or not ready: try again after Retry-After seconds",
    },
}
public = APIRouter()
keyed = APIRouter(dependencies=[Depends(check_key)], responses=_ERRORS)
admin = APIRouter(
    dependencies=[Depends(check_admin)],
    responses={403: {"model": schemas.Problem, "description": "Forbidden"}},
)


# --- lists of suggestions ------------------------------------------------------------------------


@keyed.post("/v1/suggest", response_model=schemas.Answer)
async def suggest(body: schemas.SuggestRequest, service: TheService) -> Response:
    """Suggestions for a session."""
    return _json(await answer(service, body))


@keyed.get("/v1/suggest", response_model=schemas.Answer)
async def quick_suggest(
    service: TheService,
    q: Annotated[schemas.SomeQueries, Query(description="a query of the session; repeat it")],
    n: schemas.NumberInAddress = 10,
    session_id: Optional[schemas.Name] = None,
) -> Response:
    """The same as GET, for a quick try: /v1/suggest?q=cheap+flights&q=paris."""
    body = schemas.SuggestRequest(session=q, n=n, session_id=session_id)
    return _json(await answer(service, body))


@keyed.post("/v1/complete", response_model=schemas.Answer)
async def complete(body: schemas.CompleteRequest, service: TheService) -> Response:
    """Completions of the query being typed, given its session."""
    return _json(await answer(service, body))


@keyed.post("/v1/suggest/batch", response_model=schemas.BatchAnswer)
async def suggest_batch(body: schemas.BatchRequest, service: TheService) -> Response:
    """Suggestions for many sessions: all are answered, or none."""
    if not service.answering.suggest_lane.has_room(len(body.requests)):
        raise Full
    answers = await asyncio.gather(*(answer(service, each) for each in body.requests))
    return _json(schemas.BatchAnswer(answers=answers))


@keyed.post("/v1/explain", response_model=schemas.ExplainAnswer)
async def explain(body: schemas.ExplainRequest, service: TheService) -> Response:
    """Why a suggestion is in the list, and how much each query of the session contributes. All text
    that is not in the list has one and the same answer."""
    started = time.perf_counter()
    bundle = service.bundles.choose(body.session_id, body.bundle)
    asked = Explain(bundle, as_text(body.session), _history(body), body.suggestion)
    answered = schemas.ExplainAnswer(
        explanation=await service.answering.explain(asked),
        read=places_read(bundle, asked.session),
        bundle=_name(bundle),
        milliseconds=_since(started),
    )
    return _json(answered)


@keyed.get("/v1/samples", response_model=schemas.SamplesAnswer)
async def samples(service: TheService) -> Response:
    """Sample sessions of the champion, chosen with mtn-export --samples."""
    bundle = service.bundles.choose(None)
    found = [
        schemas.SampleAnswer(session=[*each.session], history=[[*past] for past in each.history])
        for each in bundle.samples
    ]
    return _json(schemas.SamplesAnswer(samples=found, bundle=_name(bundle)))


async def answer(
    service: Service, body: Union[schemas.SuggestRequest, schemas.CompleteRequest]
) -> schemas.Answer:
    started = time.perf_counter()
    bundle = service.bundles.choose(body.session_id, body.bundle)
    milliseconds = body.deadline_ms
    ask = Ask(
        bundle,
        as_text(body.session),
        _history(body),
        body.n,
        service.settings.deadline if milliseconds is None else milliseconds / 1000,
        body.prefix if isinstance(body, schemas.CompleteRequest) else None,
    )
    found = await service.answering.find(ask)
    return schemas.Answer(
        suggestions=[schemas.SuggestionAnswer(**each._asdict()) for each in found.suggestions],
        bundle=_name(bundle),
        degraded=found.degraded is not None,
        reason=found.degraded,
        query_id=f"{bundle.arm}.{bundle.version}.{uuid.uuid4().hex}",
        milliseconds=_since(started),
    )


def _history(body: schemas.Context) -> Any:
    return None if body.history is None else tuple(map(as_text, body.history))


def _name(bundle: ServedBundle) -> schemas.BundleName:
    return schemas.BundleName(name=bundle.arm, version=bundle.version)


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def _json(answered: Any, status: int = 200) -> Response:
    """A response without FastAPI's validation: pydantic has validated the answer already."""
    return Response(answered.model_dump_json(), status, {"Cache-Control": "no-store"}, _JSON)


# --- browsers ------------------------------------------------------------------------------------


@keyed.get(
    "/opensearch",
    response_model=List[Any],
    responses={200: {"content": {opensearch.SUGGESTIONS_TYPE: {}}}},
)
async def browser_suggestions(service: TheService, q: schemas.Query) -> Response:
    """Completions in the format of browsers: ["what was typed", ["…", "…"]]."""
    answered = await answer(service, schemas.CompleteRequest(session=[], prefix=q, n=10))
    texts = [each.text for each in answered.suggestions]
    found = opensearch.suggestions(q, texts)
    return JSONResponse(found, media_type=opensearch.SUGGESTIONS_TYPE)


@public.get("/opensearch.xml", include_in_schema=False)
async def opensearch_description(request: Request, service: TheService) -> Response:
    """The file that lets a browser add this search."""
    text = opensearch.description(str(request.base_url), service.settings.search_url)
    return Response(text, media_type=opensearch.DESCRIPTION_TYPE)


# --- events --------------------------------------------------------------------------------------


@keyed.post("/v1/events", response_model=schemas.EventsAnswer)
async def events(body: schemas.EventsRequest, service: TheService) -> Response:
    """Record what was shown, chosen and asked; 404 if events are not kept."""
    if service.events is None:
        raise HTTPException(404, "events are not kept here: mtn-serve --events")
    await service.events.keep(body.events)
    return _json(schemas.EventsAnswer(kept=len(body.events)))


# --- operation -----------------------------------------------------------------------------------


_STUCK: Responses = {503: {"model": schemas.Health, "description": "Stuck: restart it"}}
_NOT_READY: Responses = {
    503: {"model": schemas.Ready, "description": "Not ready: send it no requests"}
}


@public.get("/healthz", response_model=schemas.Health, responses=_STUCK)
async def healthz(service: TheService) -> Response:
    """503 if a batch has been running for so long that only a restart helps."""
    if service.answering.is_stuck():
        return _json(schemas.Health(status="stuck"), 503)
    return _json(schemas.Health(status="ok"))


@public.get("/readyz", response_model=schemas.Ready, responses=_NOT_READY)
async def readyz(service: TheService) -> Response:
    """Whether requests are answered, and by which bundles. 503 while the service is ending, and
    where files of a bundle were changed in place."""
    names = [_name(each) for each in service.bundles.served.values()]
    if service.ending:
        return _json(schemas.Ready(status="ending", bundles=names), 503)
    if service.bundles.have_changed():
        return _json(schemas.Ready(status="changed", bundles=names), 503)
    return _json(schemas.Ready(status="ready", bundles=names))


@public.get("/metrics", response_class=PlainTextResponse)
async def metrics(service: TheService) -> Response:
    """Counters and histograms in the text format of Prometheus."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)


@admin.post("/admin/reload", response_model=schemas.Ready)
async def reload(service: TheService) -> Response:
    """Reload the bundles and the block list; 409 if they cannot be used."""
    refused = await service.reload(tell_others=True)
    if refused is not None:
        raise HTTPException(409, refused)
    return await readyz(service)


@public.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """This list of routes."""
    return HTMLResponse(api_page(request.app.openapi()))


# --- the application -----------------------------------------------------------------------------


def create_app(settings: Settings) -> FastAPI:
    """Create the application and load the bundles.

    Raises:
        InputError: a bundle cannot be served
    """
    service = Service(settings)
    app = FastAPI(
        title="mtn_fairseq: query suggestions",
        docs_url=None,  # FastAPI's pages load scripts from other sites
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.service = service
    for router in (public, keyed, admin):
        app.include_router(router)
    if PAGE.is_dir():
        app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(InputError, _bad_input)
    app.add_exception_handler(Full, _full)
    app.add_exception_handler(TooLate, _full)
    app.add_exception_handler(NotWritten, _not_written)
    app.add_exception_handler(FilesChanged, _changed)
    # The middleware added last sees a request first.
    app.add_middleware(BoundedBodies, max_body=settings.max_body, seconds=settings.body_seconds)
    has_room = service.answering.has_room_by_path()
    app.add_middleware(RefuseWhenFull, has_room=has_room, metrics=service.metrics)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
        )
    app.add_middleware(Guard, metrics=service.metrics)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP"):
        loop = asyncio.get_running_loop()
        tasks = set()

        def reload() -> None:
            tasks.add(task := loop.create_task(service.reload()))
            task.add_done_callback(tasks.discard)

        loop.add_signal_handler(signal.SIGHUP, reload)
    yield
    await service.close()


async def _invalid(request: Request, error: Exception) -> Response:
    """Answer 422 without the input itself, which FastAPI would send back, however long."""
    assert isinstance(error, RequestValidationError)
    found = [{key: each[key] for key in ("loc", "msg", "type")} for each in error.errors()[:20]]
    for each in found:
        if tuple(each["loc"]) == ("body",) and not _is_json(request):
            each["msg"] += f"; send Content-Type: {_JSON}"
    return JSONResponse({"detail": found}, 422)


def _is_json(request: Request) -> bool:
    """Whether the content type is JSON; without it, FastAPI reads the body as text."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == _JSON


async def _bad_input(request: Request, error: Exception) -> Response:
    found = [{"loc": ["body"], "msg": str(error), "type": "input"}]
    return JSONResponse({"detail": found}, 422)


async def _changed(request: Request, error: Exception) -> Response:
    service_of(request).metrics.refused.labels(type(error).__name__).inc()
    detail = "files of the bundle were changed in place: write a version beside it, rename, reload"
    return JSONResponse({"detail": detail}, 503, RETRY_AFTER)


async def _not_written(request: Request, error: Exception) -> Response:
    detail = "the events could not be stored, see the log of the service"
    return JSONResponse({"detail": detail}, 503, RETRY_AFTER)


async def _full(request: Request, error: Exception) -> Response:
    service_of(request).metrics.refused.labels(type(error).__name__).inc()
    return JSONResponse({"detail": TOO_MANY}, 503, RETRY_AFTER)
