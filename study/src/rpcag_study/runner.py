"""Do the runs of a plan that a store does not have yet."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import joblib

from rpcag_study.runs import Task
from rpcag_study.store import Store, key_of


def missing(tasks: Iterable[Task], store: Store) -> list[Task]:
    done = store.keys()
    return [task for task in tasks if key_of(task.run.record()) not in done]


def run(
    tasks: Iterable[Task],
    store: Store,
    *,
    jobs: int = 1,
    dask: str | None = None,
    watch: Callable[[dict], Any] | None = None,
) -> list[dict]:
    """Append a line per run, as they end; what failed is returned, to be tried again.

    Parameters
    ----------
    tasks : iterable of Task
    store : Store
    jobs : int, default=1
        Processes, each with one BLAS thread.
    dask : str, optional
        Address of a Dask scheduler that does the work instead.
    watch : callable, optional
        Called with every record.
    """
    failed = []
    todo = missing(tasks, store)
    with store.appending() as writer:
        for record in _here(todo, jobs) if dask is None else _on_dask(todo, dask):
            if "error" in record:
                failed.append(record)
            else:
                writer.add(record)
            if watch is not None:
                watch(record)
    return failed


def _here(tasks: list[Task], jobs: int) -> Iterator[dict]:
    pool = joblib.Parallel(
        jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
    )
    return pool(joblib.delayed(_attempt)(task) for task in tasks)


def _on_dask(tasks: list[Task], address: str) -> Iterator[dict]:
    from distributed import Client, as_completed

    try:
        # Not the default client: one that fails to connect would stay the default, and
        # later computations of the caller would wait for it.
        connected = Client(address, timeout="10s", set_as_default=False)
    # Where the time is over while it connects, Distributed fails an assertion.
    except (OSError, ValueError, AssertionError) as error:
        raise ValueError(
            "dask must be the address of a scheduler that is running, such as "
            f"tcp://host:8786, got {address!r} ({str(error) or type(error).__name__})"
        ) from error
    with connected as client:
        futures = [client.submit(_attempt, task, pure=False) for task in tasks]
        for future in as_completed(futures, loop=client.loop):
            yield future.result()


def _attempt(task: Task) -> dict:
    """The record of a run, or the reason why there is none."""
    try:
        return task()
    except Exception as error:
        # Data that are not here need no name of the error.
        kind = "" if isinstance(error, FileNotFoundError) else type(error).__name__
        return {"run": task.run.record(), "error": f"{kind}: {error}".lstrip(": ")}
