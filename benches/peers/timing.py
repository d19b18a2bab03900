"""How the peers' times are taken, and how they are shown."""

import json
import time


def times_ms(call, runs, calls=1):
    """The times of a call of PyTorch in ms, sorted: `calls` are made one after the other between two events."""
    import torch

    call()
    times = []
    for _ in range(runs):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / calls)
    return sorted(times)


def clock_ms(call):
    """The time of a call by the host's clock."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def repeated(measure, runs):
    """The times of `runs` runs after a first one that is not counted, as the ladder takes them.

    A call that takes a second is measured once. `measure` returns a time in ms; the call has to be compiled."""
    first = measure()
    if first >= 1e3 or runs == 0:
        return [first]
    return [measure() for _ in range(runs)]


def median(times):
    """The one in the middle."""
    return sorted(times)[len(times) // 2]


def said(times, digits=3):
    """The median, with the least and the most in brackets."""
    numbers = median(times), min(times), max(times)
    return "{} ({}-{})".format(*(f"{number:.{digits}f}" for number in numbers))


def show_row(ladder, row, kernel=None, call=None, share=1, **facts):
    """Prints a row beside a ladder's as a line of JSON.

    `kernel` are times by events of kernels on data in the device's memory, `call` those of whole calls from and to the
    host's memory by the host's clock, both in ms. Of work that takes too long a part is measured: its `share`, by which
    the times are divided here."""

    def spread(times):
        if times is None:
            return None
        times = [time / share for time in times]
        return {"median_ms": median(times), "least_ms": min(times), "most_ms": max(times), "runs": len(times)}

    line = {"ladder": ladder, "row": row, "kernel": spread(kernel), "call": spread(call), "share": share, **facts}
    print(json.dumps(line), flush=True)
