"""Every bug that ``make planted`` plants still has its place, and its test."""

import pytest

from soak.nursery import ROOT
from soak.planted import BUGS, Bug, main, planted


def test_there_are_many_bugs_and_each_is_another():
    assert len(BUGS) >= 20
    assert len({bug.what for bug in BUGS}) == len(BUGS)
    assert len({(bug.file, bug.changes) for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what)
def test_a_bug_can_be_planted(bug: Bug):
    sound = (ROOT / bug.file).read_text("utf-8")
    spoiled = planted(sound, bug)
    assert spoiled != sound
    compile(spoiled, bug.file, "exec")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what)
def test_a_bug_has_its_test(bug: Bug):
    file, name = bug.test.split("::")
    assert f"def {name}(" in (ROOT / file).read_text("utf-8")


def test_a_bug_that_has_lost_its_place_is_an_error():
    with pytest.raises(ValueError, match=BUGS[0].what):
        planted("the source was written anew", BUGS[0])


def test_a_bug_that_nobody_knows_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["planted", "--only", "no such bug"])
    with pytest.raises(SystemExit):
        main()
    assert "no bug has 'no such bug' in it" in capsys.readouterr().err
