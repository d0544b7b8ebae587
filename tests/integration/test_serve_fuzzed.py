"""Good and bad requests from the OpenAPI document: each answer is one that it documents."""

import pytest
from hypothesis import HealthCheck, given, settings
from served import save_table, served

schemathesis = pytest.importorskip("schemathesis", reason="not on this Python")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")
GOOD, BAD = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
# A schema cannot express what an event or an explanation refers to.
REFUSES_MORE = ("/v1/events", "/v1/explain")


@pytest.fixture(scope="module")
def operations(tmp_path_factory):
    """Each route with a generator of requests."""
    folder = tmp_path_factory.mktemp("fuzzed")
    save_table(folder / "table")
    bundles = f"{folder}/table --challenger {folder}/table"
    with served(folder, f"{bundles} --events {folder}/events --deadline-ms 30000") as server:
        schema = schemathesis.openapi.from_url(f"{server.address}openapi.json")
        yield [found.ok() for found in schema.get_all_operations()]


@pytest.mark.parametrize("mode", [GOOD, BAD], ids=lambda mode: mode.value)
def test_answers_are_as_documented(operations, mode):
    """All checks of schemathesis: statuses, types, schemas, accepted and refused requests."""
    assert len(operations) >= 11
    for operation in operations:
        if mode is BAD and not list(operation.iter_parameters()) and not operation.body:
            continue  # no bad request exists
        fuzz(operation, mode)


def fuzz(operation, mode):
    left_out = [checks.positive_data_acceptance] if operation.path in REFUSES_MORE else []
    if operation.method == "get":  # anything in an address is text
        left_out.append(checks.negative_data_rejection)

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        response = case.call()
        if response.text == "Invalid HTTP request received.":
            return  # an address that is too long never reaches the service
        if response.status_code != 413:  # about the size of a body, which no schema limits
            case.validate_response(response, excluded_checks=left_out)

    ask()
