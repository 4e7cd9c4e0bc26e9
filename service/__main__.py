"""``python -m service`` is the ``cubilete`` command."""

from service.cli import main

main()
