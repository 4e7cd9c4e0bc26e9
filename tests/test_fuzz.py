"""The whole contract under schemathesis: bounded and seeded here, longer with ``make fuzz``."""

import re
from pathlib import Path

from tests import fuzz
from tests.server import Server

SEED = 20_261_130
EXAMPLES = 6


def test_no_request_of_a_fuzzer_gets_what_the_contract_does_not_say(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        done = fuzz.run(server, EXAMPLES, SEED)
        log = server.log.read_text("utf-8", "replace")
    assert done.returncode == 0, f"seed {SEED}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in log
    tested = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert tested, done.stdout
    assert int(tested[1]) == int(tested[2]) > 1_500
