"""Bugs planted on purpose, each with the test that must catch it.

    make planted ARGS="--only key"

Every bug is a small replacement in the source. It is made in a scratch copy of the project, where
its test must fail; on the copy as it was, all those tests must pass. A replacement whose text is no
longer in the source is an error: whoever changes the code plants the bug anew.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from soak.nursery import ROOT

_LEFT_OUT: Final = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "build", "data"
)
_PATIENCE_S: Final = 600
_FAILED: Final = 1  # of pytest: tests ran, and some failed


@dataclass(frozen=True, slots=True)
class Bug:
    """What is wrong, the file, the texts to replace, and the test that catches it."""

    what: str
    file: str
    changes: tuple[tuple[str, str], ...]
    test: str


def _bug(what: str, file: str, old: str, new: str, test: str) -> Bug:
    return Bug(what, f"service/{file}.py", ((old, new),), f"tests/{test}")


BUGS: Final[tuple[Bug, ...]] = (
    # -- the store -------------------------------------------------------------------------------
    Bug(
        "an answer leaves before its commit",
        "service/store/committer.py",
        (
            (
                "            try:\n                results =",
                "            self._early = batch\n            try:\n                results =",
            ),
            (
                "sent = batch\n",
                "sent = batch\n                    self._follower.follow_here("
                "Settled(self._early, batch.results, ()))\n",
            ),
        ),
        "tests/test_simulator.py::test_a_seed_is_a_schedule",
    ),
    _bug(
        "a commit that never came is told as made",
        "store/committer",
        "            return stands\n",
        "            return True\n",
        "test_store_commits.py::test_a_change_whose_commit_was_cut_off_is_made_once",
    ),
    _bug(
        "the same action of another request is taken for one's own",
        "store/batch",
        'yield self._stored_answer(connection, row["scope"]) == row["body"]',
        "continue",
        "test_store_commits.py::test_the_same_action_of_another_request_is_not_taken_for_ones_own",
    ),
    _bug(
        "one change that stands is a witness for all of its batch",
        "store/batch",
        "return all(self._witnesses(connection))",
        "return any(self._witnesses(connection))",
        "test_store_commits.py::test_what_another_server_was_sent_too_is_no_witness_for_the_rest",
    ),
    _bug(
        "heads that a full disk has refused are forgotten at the next start",
        "croupier",
        "            owe([Head(",
        "            list([Head(",
        "test_receipts.py::test_heads_that_the_file_has_not_are_written_at_the_start",
    ),
    _bug(
        "no compare-and-set",
        "store/batch",
        "!= len(rows)",
        "< 0",
        "test_store_races.py::test_a_change_beside_the_log_is_not_lost_between_two_servers",
    ),
    _bug(
        "entries are added to a game that another server has moved",
        "store/statements",
        "count.scalar_subquery() == func.cardinality(",
        "count.scalar_subquery() <= func.cardinality(",
        "test_store_races.py::test_a_game_that_another_server_has_moved_takes_no_other_one_along",
    ),
    _bug(
        "the columns by which games are found stay behind",
        "store/batch",
        "records.searched_row(one) == now",
        "True",
        "test_store.py"
        "::test_an_action_sets_no_column_that_stays_as_it_is_where_that_costs_an_index",
    ),
    _bug(
        "a change that was given no memory is answered 500",
        "store/batch",
        "            end_if_out_of_memory(bug)\n",
        "",
        "test_memory_limit.py::test_an_allocation_that_fails_ends_the_process",
    ),
    _bug(
        "a refusal by a game that has moved since",
        "store/batch",
        "        if unchanged or (",
        "        if (",
        "test_store_races.py::test_a_refusal_is_never_by_a_game_that_another_server_has_moved",
    ),
    _bug(
        "a rematch that is added before the game before it is locked",
        "store/batch",
        " or (moved & self._assumed and self._opens_rematch())",
        "",
        "test_store_races.py::test_of_two_servers_that_open_a_rematch_one_is_told_of_the_other",
    ),
    _bug(
        "a write that begins as a read (deferred BEGIN)",
        "store/engine",
        'begin="BEGIN IMMEDIATE"',
        'begin="BEGIN"',
        "test_store_opening.py::test_a_write_has_its_lock_from_the_beginning",
    ),
    Bug(
        "fsync off",
        "service/store/engine.py",
        (
            ('"synchronous": "FULL"', '"synchronous": "OFF"'),
            ('"synchronous": 2', '"synchronous": 0'),
        ),
        "tests/test_store_opening.py::test_every_connection_writes_to_the_disk_before_it_answers",
    ),
    _bug(
        "an old copy replaces a newer one in the cache",
        "store/cache",
        "known.revision < hosted.revision",
        "known.revision",
        "test_cache.py::test_an_older_game_never_replaces_a_newer_one",
    ),
    _bug(
        "an entry that was seen comes again (>= for >)",
        "store/store",
        "entry.c.seq > after",
        "entry.c.seq >= after",
        "test_store.py::test_lines_come_in_order_from_where_they_are_asked",
    ),
    _bug(
        "a page repeats the last game of the page before",
        "store/listing",
        "game.c.id < before",
        "game.c.id <= before",
        "test_store.py::test_public_games_are_listed_newest_first_and_page_by_page",
    ),
    _bug(
        "a log line that is never stored",
        "store/records",
        "enumerate(lines, first)",
        "enumerate(lines[:1], first)",
        "test_store.py::test_the_stored_log_is_gapless_and_folds_to_the_stored_game",
    ),
    _bug(
        "the head file is not written",
        "api/house",
        "heads.append(_head(one.game) for one in games)",
        "None",
        "test_receipts.py::test_a_restored_backup_ends_the_games_that_have_moved_since",
    ),
    # -- requests that are sent again ------------------------------------------------------------
    _bug(
        "a key is taken for another request",
        "store/batch",
        "if fingerprint != job.retry.fingerprint:",
        "if False:",
        "test_idempotency.py::test_a_key_belongs_to_one_request",
    ),
    _bug(
        "answers are not stored",
        "store/batch",
        'sorted(self._new_answers, key=itemgetter("scope"))',
        "[]",
        "test_store.py::test_a_repeated_request_is_answered_the_same_later_and_after_a_restart",
    ),
    _bug(
        "refusals are stored",
        "store/batch",
        "            return refusal\n",
        "            if job.retry is not None:\n"
        "                told = Answer(409, (), b'')\n"
        "                row = records.answer_row(job.retry, job.game_id, told)\n"
        "                self._new_answers.append(row)\n"
        "            return refusal\n",
        "test_store.py::test_a_refusal_uses_no_key_up",
    ),
    _bug(
        "an answer from the store does not say so",
        "api/handling",
        "if answer.replayed:",
        "if False:",
        "test_idempotency.py::test_every_change_is_made_once_and_answered_again",
    ),
    _bug(
        "a key is everybody's, whatever the token",
        "api/reading",
        "enc(owner, key.encode())",
        "enc(key.encode())",
        "test_idempotency.py::test_the_keys_of_two_tokens_are_independent",
    ),
    _bug(
        "tokens lie in the stored answers, unsealed",
        "croupier",
        "body=self._key.seal(answer.body, nonce), sealed=True",
        "sealed=False",
        "test_idempotency.py::test_stored_answers_survive_a_power_cut_and_no_token_is_on_disk",
    ),
    # -- versions --------------------------------------------------------------------------------
    _bug(
        "a stale version is taken",
        "croupier",
        "if caller.version is not None and",
        "if False and",
        "test_races.py::test_of_fifty_who_have_seen_one_version_one_acts",
    ),
    _bug(
        "the version is off by one",
        "croupier",
        "caller.version != hosted.game.version",
        "caller.version != hosted.game.version - 1",
        "test_races.py::test_of_fifty_who_have_seen_one_version_one_acts",
    ),
    # -- who may ---------------------------------------------------------------------------------
    _bug(
        "any token will do",
        "keys",
        "hmac.compare_digest(one, other)",
        "len(one) == len(other)",
        "test_authorisation.py::test_a_change_is_made_by_whom_it_is_for",
    ),
    _bug(
        "a seat acts for another",
        "roles",
        "if seat not in (None, role):",
        "if False:",
        "test_api_play.py::test_a_seat_may_name_itself_and_nobody_else",
    ),
    _bug(
        "a seat acts when it is not its turn",
        "steps",
        "if allowed.admits(seat, action)",
        "if allowed.kind == action.kind",
        "test_api_play.py::test_a_seat_waits_for_its_turn",
    ),
    _bug(
        "the host acts for all at any table",
        "roles",
        "if not hosted.hotseat:",
        "if False:",
        "test_api_play.py::test_the_host_acts_for_nobody_unless_at_a_hot_seat",
    ),
    _bug(
        "a token that was replaced still acts",
        "croupier",
        "with_holder(Write(hosted, ()), seat, renewed)",
        "with_holder(Write(hosted, ()), seat, held)",
        "test_idempotency.py"
        "::test_a_token_that_was_replaced_gets_no_answer_but_that_of_its_replacement",
    ),
    _bug(
        "a frozen game plays on",
        "croupier",
        'hosted.audit == "failed"',
        'hosted.audit == "never"',
        "test_audits.py::test_a_game_whose_log_fails_is_frozen_and_the_others_play_on",
    ),
    _bug(
        "names are compared as they are written",
        "names",
        'unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())',
        "seen",
        "test_names.py::test_names_that_differ_in_form_alone_are_equal",
    ),
    _bug(
        "of two equal keys in a body the last one counts",
        "api/reading",
        "if len(value) < len(pairs):",
        "if False:",
        "test_hostile.py::test_a_hostile_body_is_refused",
    ),
    # -- dice and secrets ------------------------------------------------------------------------
    _bug(
        "dice from the module random",
        "dice",
        "word % die._total",
        "__import__('random').randrange(die._total)",
        "test_dice.py::test_die",
    ),
    _bug(
        "no word is thrown away, so that faces are uneven",
        "dice",
        "if word < die._limit:",
        "if word >= 0:",
        "test_dice.py::test_die",
    ),
    _bug(
        "a throw with the key of the one before",
        "dice",
        "key = self._chain.key(number)",
        "key = self._chain.key(number - 1)",
        "test_simulate.py::test_a_seed_is_a_game",
    ),
    _bug(
        "an entry that does not name the one before",
        "steps",
        "game.version + 1, game.head",
        "game.version + 1, NO_HASH",
        "test_simulate.py::test_a_seed_is_a_game",
    ),
    _bug(
        "the key of the next throw in an ETag",
        "api/views",
        "return f'\"{hosted.game.version}\"'",
        "return f'\"{hosted.game.version}-{hosted.salt.hex()}\"'",
        "test_canary.py::test_nothing_secret_shows_in_a_whole_run_of_all_rulesets",
    ),
    _bug(
        "a seed that nobody has committed to",
        "steps",
        "client_commit(game.id, seed) != player.commit",
        "not seed",
        "test_seeds.py::test_a_reveal_must_be_the_seed_committed_to",
    ),
    _bug(
        "two seats choose the dice",
        "steps",
        "if player.seed is not None and game.seeds():",
        "if False:",
        "test_seeds.py::test_an_open_game_takes_one_seed_and_not_a_second",
    ),
    # -- rules and chips -------------------------------------------------------------------------
    _bug(
        "a pot that is paid twice",
        "rules/dados_puercos_state",
        "held + won.get(seat, 0)",
        "held + 2 * won.get(seat, 0)",
        "test_contract.py::test_games_keep_the_contract_and_end",
    ),
    _bug(
        "a bet that is settled twice",
        "rules/heaven_and_nine_state",
        "state.chips[self.seat] + self.stake + self.won",
        "state.chips[self.seat] + self.stake + 2 * self.won",
        "test_contract.py::test_games_keep_the_contract_and_end",
    ),
    # -- live tables -----------------------------------------------------------------------------
    _bug(
        "who resumes misses an entry",
        "api/live",
        "after if after is not None and after <= feed.version else None",
        "after + 1 if after is not None and after < feed.version else None",
        "test_streams.py::test_a_stream_resumes_after_the_last_event_without_gap_or_double",
    ),
    _bug(
        "who resumes is told an entry twice",
        "api/stream",
        "return [int(part) if part",
        "return [max(0, int(part) - 1) if part",
        "test_streams.py::test_a_stream_resumes_after_the_last_event_without_gap_or_double",
    ),
    _bug(
        "the seqs of several games in another order",
        "api/live",
        "str(place.after) for place in self._places)",
        "str(place.after) for place in self._places[::-1])",
        "test_streams.py::test_several_games_are_told_on_one_connection",
    ),
    _bug(
        "a slow reader hears on with a gap",
        "api/feed",
        "            return None\n        return [self",
        "            missing = len(self._lines)\n        return [self",
        "test_feed.py"
        "::test_a_reader_who_stops_reading_is_cut_with_resync_and_misses_nothing_afterwards",
    ),
    _bug(
        "a feed keeps every line of its game",
        "api/feed",
        "while len(self._lines) > _KEPT_LINES or self._size > _KEPT_BYTES:",
        "while False:",
        "test_feed.py"
        "::test_a_reader_who_stops_reading_is_cut_with_resync_and_misses_nothing_afterwards",
    ),
    _bug(
        "every listener reads the log for himself",
        "api/feed",
        "missing > len(self._lines)",
        "missing",
        "test_feed.py::test_two_hundred_listeners_cost_one_read_an_entry",
    ),
    _bug(
        "an end that is not told",
        "api/live",
        'yield self._last(place, "end", status',
        'self._last(place, "end", status',
        "test_streams.py::test_a_stream_ends_when_the_game_is_finished",
    ),
    _bug(
        "an end that is not told where a game freezes",
        "api/feed",
        'self.lost = "frozen"\n        except Exception',
        "pass\n        except Exception",
        "test_feed.py::test_a_game_that_freezes_while_it_is_followed_ends_its_streams",
    ),
    _bug(
        "a browser comes back to a game that has ended",
        "api/live",
        "_ENDED_RETRY_MS if over else None",
        "None",
        "test_streams.py::test_a_stream_ends_when_the_game_is_finished",
    ),
    _bug(
        "a token that was replaced hears on",
        "api/live",
        "return before is None or now is not None",
        "return True",
        "test_streams.py::test_a_replaced_token_cuts_its_stream_and_no_other",
    ),
    _bug(
        "who closes is not told",
        "api/live",
        'yield self._form.event("server_closing"',
        'self._form.event("server_closing"',
        "test_draining.py::test_streams_are_told_that_the_server_closes_and_when_to_come_back",
    ),
    _bug(
        "a stream that has nothing to tell is silent",
        "api/live",
        "if self._ping_due:",
        "if False:",
        "test_feed.py::test_a_stream_that_has_nothing_to_tell_says_that_it_lives",
    ),
    _bug(
        "one stream more than may be open",
        "api/live",
        "len(self._open) >= self._limit",
        "len(self._open) > self._limit",
        "test_streams.py::test_streams_beyond_the_limit_are_told_to_come_back",
    ),
    _bug(
        "a listener who has gone is still counted",
        "api/live",
        "        self._live.leave(self)\n",
        "",
        "test_feed.py::test_a_listener_who_goes_leaves_nothing",
    ),
    _bug(
        "a long poll that sleeps through the change",
        "api/live",
        "leave = self.bell.watch(hosted.game.id, woken.set)",
        "leave = self.bell.watch(hosted.game.id, len)",
        "test_long_polls.py::test_a_long_poll_is_answered_as_soon_as_the_game_changes",
    ),
    _bug(
        "a long poll that sleeps through the rematch",
        "api/live",
        "hosted.game.version == version and hosted.series.next_game is None",
        "hosted.game.version == version",
        "test_long_polls.py"
        "::test_a_long_poll_at_a_game_that_has_ended_is_answered_as_soon_as_it_has_its_rematch",
    ),
    _bug(
        "a change at another process that no look finds",
        "bell",
        "if known.get(one) != revision)",
        "if False)",
        "test_bell.py::test_who_watches_a_game_that_is_deleted_elsewhere_is_woken_once_more",
    ),
    _bug(
        "who has left is present for ever",
        "api/live",
        "place.seats or ())\n        self._places.clear()",
        "())\n        self._places.clear()",
        "test_feed.py"
        "::test_presence_lasts_until_the_last_stream_of_a_seat_is_gone_and_a_while_longer",
    ),
    _bug(
        "a page that is loaded anew has left",
        "presence",
        "loop.call_later(_GRACE_S, self._count",
        "loop.call_later(0, self._count",
        "test_feed.py"
        "::test_presence_lasts_until_the_last_stream_of_a_seat_is_gone_and_a_while_longer",
    ),
    _bug(
        "who comes while the others are told is never told",
        "presence",
        "            await peers.tell(self._here)\n",
        "            await peers.tell(self._here)\n            self._untold = False\n",
        "test_presence.py::test_who_comes_while_the_others_are_told_is_told_as_well",
    ),
    _bug(
        "a presence that is told once and then forgotten",
        "presence",
        "not await peers.go_on():\n            self._untold = True",
        "await peers.go_on() is None:\n            self._untold = True",
        "test_presence.py::test_what_the_others_have_forgotten_is_told_again",
    ),
    _bug(
        "a lease of presence that never ends",
        "store/peers",
        "AND until > extract(epoch FROM clock_timestamp()) * 1000\n",
        "AND until > 0\n",
        "test_bell.py::test_a_process_that_dies_leaves_nobody_present",
    ),
    # -- clocks ----------------------------------------------------------------------------------
    _bug(
        "an action after its deadline is taken",
        "croupier",
        'if acts and overdue.status == "playing":',
        "if False:",
        "test_deadlines.py::test_an_action_after_its_deadline_is_told_so_and_the_table_has_acted",
    ),
    _bug(
        "a change goes before what is due",
        "croupier",
        "not whatever_is_due and found.due(at)",
        "acts and found.due(at)",
        "test_deadlines.py::test_who_comes_while_bots_are_still_behind_is_told_to_come_again",
    ),
    _bug(
        "a deadline counts a moment too early",
        "store/change",
        "deadline <= at and",
        "deadline <= at + 1 and",
        "test_deadlines.py::test_an_action_a_moment_before_its_deadline_is_in_time",
    ),
    _bug(
        "a key chain is made for a rematch that may not be",
        "croupier",
        "steps.require_over(before.game)",
        "None",
        "test_slots.py::test_no_rematch_has_a_key_chain_made_before_it_may_be",
    ),
    _bug(
        "an old game is deleted before its record is on disk",
        "sweeper",
        "        await asyncio.to_thread(export.write, path, record)\n"
        "        return await self._store.remove(hosted)\n",
        "        removed = await self._store.remove(hosted)\n"
        "        await asyncio.to_thread(export.write, path, record)\n"
        "        return removed\n",
        "test_sweeper.py::test_a_record_that_cannot_be_written_keeps_its_game",
    ),
)


def planted(text: str, bug: Bug) -> str:
    """The source with the bug in it; raises ValueError unless each text is there exactly once."""
    for old, new in bug.changes:
        if text.count(old) != 1:
            raise ValueError(f"{bug.what}: {text.count(old)} times in {bug.file}: {old!r}")
        text = text.replace(old, new)
    return text


# --- in a scratch copy --------------------------------------------------------------------------


class Scratch:
    """A copy of the project, in which tests are run."""

    def __init__(self, place: Path) -> None:
        self._place = place / "project"
        shutil.copytree(ROOT, self._place, ignore=_LEFT_OUT)

    def survives(self, bug: Bug) -> str | None:
        """Null if the test has caught the bug; else what the test run has said."""
        file = self._place / bug.file
        sound = file.read_text("utf-8")
        file.write_text(planted(sound, bug), "utf-8")
        try:
            code, said = self.run([bug.test])
        finally:
            file.write_text(sound, "utf-8")
        return None if code == _FAILED else f"pytest {code}: {said[-1500:]}"

    def run(self, tests: Sequence[str]) -> tuple[int, str]:
        """The exit code of pytest, and what it said."""
        options = ("-q", "-n", "0", "-x", "-p", "no:cacheprovider")
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=self._place,
            env={
                **os.environ,
                "PYTHONPATH": str(self._place),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        return run.returncode, run.stdout + run.stderr


def survivors(bugs: Sequence[Bug], jobs: int) -> Iterator[tuple[Bug, str]]:
    """The bugs that their tests do not catch, told one by one as they are tried."""
    with tempfile.TemporaryDirectory(prefix="planted-") as place:
        free = [Scratch(Path(tempfile.mkdtemp(dir=place))) for _ in range(jobs)]
        code, said = free[0].run(sorted({bug.test for bug in bugs}))
        if code:
            raise RuntimeError(f"the tests fail without any bug: {said[-3000:]}")

        def tried(bug: Bug) -> str | None:
            scratch = free.pop()
            began = time.monotonic()
            try:
                found = scratch.survives(bug)
            finally:
                free.append(scratch)
            verdict = "caught" if found is None else "SURVIVES"
            print(f"{verdict:>8}  {time.monotonic() - began:5.1f} s  {bug.what}", flush=True)
            return found

        with ThreadPoolExecutor(jobs) as pool:
            for bug, said_of in zip(bugs, pool.map(tried, bugs), strict=True):
                if said_of is not None:
                    yield bug, said_of


def main() -> None:
    """Plants every bug; exit code 1 if one survives."""
    parser = argparse.ArgumentParser(prog="planted", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="bugs with this text in them")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    chosen = [bug for bug in BUGS if given.only in f"{bug.what} {bug.file} {bug.test}"]
    if not chosen:  # pytest without a name would run everything there is
        parser.error(f"no bug has {given.only!r} in it")
    found = list(survivors(chosen, given.jobs))
    for bug, said in found:
        print(f"\n{bug.what} ({bug.file}) is not caught by {bug.test}\n{said}")
    print(f"{len(chosen) - len(found)} of {len(chosen)} planted bugs are caught")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
