"""What `mtn-suggest` prints for single sessions, as lines and as JSON."""

import io
import json

import pytest
from test_next_queries import table_of

from mtn_serving.commands.suggest import answer_in_json, answer_lines, main
from mtn_serving.suggester import Suggester

SUGGESTER = Suggester(table_of([["paris", "london"], ["paris", "rome"], ["x", "café"]]))


def answered(answer, lines):
    out = io.StringIO()
    answer(SUGGESTER, lines, 10, out)
    return out.getvalue()


def test_lines_name_the_rule_of_each_suggestion():
    assert answered(answer_lines, ["Paris\n", "never\n"]) == (
        "0.0000\tcounts\tin turn\tlondon\n-1.0000\tcounts\tin turn\trome\n\n\n"
    )


def test_each_input_line_gets_one_json_object():
    typed = ["Paris\n", "\n", "<q>\n", "never\n", "par\udcffis\n", "x", ""]
    lines = answered(answer_in_json, typed).splitlines()
    found = [json.loads(line) for line in lines]
    assert [each["session"] for each in found] == ["paris", "", "", "never", "par?is", "x", ""]
    assert found[0]["suggestions"] == [
        {**each, "source": "counts", "rule": "in turn"}
        for each in (
            {"text": "london", "score": 0.0, "query": "london"},
            {"text": "rome", "score": -1.0, "query": "rome"},
        )
    ]
    assert found[1] == {"session": "", "suggestions": []}
    assert "café" in lines[5]


def test_json_is_not_for_a_test_set(capsys):
    with pytest.raises(SystemExit):
        main(["--counts", "none", "--test", "none", "--json"])
    assert "--json answers lines" in capsys.readouterr().err
