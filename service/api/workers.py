"""The processes of ``--workers``: uvicorn's, whose end its parent hears at once."""

from uvicorn.supervisors import multiprocess


class Worker(multiprocess.Process):
    """uvicorn's parent keeps its worker's end of their pipe open, and so waits for an answer of one
    that has just died as long as for one that is busy."""

    def start(self) -> None:
        """Starts the process, which then alone holds its end."""
        super().start()
        self.child_conn.close()


def hear_the_end_of_workers() -> None:
    """To be called before uvicorn makes its processes."""
    setattr(multiprocess, "Process", Worker)  # noqa: B010
