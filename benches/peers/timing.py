"""How the peers' times are taken, and how they are shown."""

import json
import os
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


def grouped(count):
    """A count as rows say it: 10⁸, 200 000 or 1000."""
    powers = {10**power: f"10{text}" for power, text in zip(range(6, 11), ("⁶", "⁷", "⁸", "⁹", "¹⁰"))}
    return powers.get(count, str(count) if count < 10_000 else f"{count:,}".replace(",", " "))


def row(case, times, program, version=None, clock="device", share=None, **facts):
    """Prints a row, and appends it to the file that `cargo xtask bench` names: see crates/figures.

    `times` are those of the runs in ms, `clock` says what they include: "device" for work on data in the device's memory
    between two events, "call" for whole calls by the host's clock. Of work of which only a `share` was done, the times are
    divided by the share. Facts are `bytes`, `operations` with their `unit`, and the largest `error` of the results."""
    if share:
        times = [time / share for time in times]
        facts["share"] = share
    line = {
        "case": case,
        "program": program,
        "version": version,
        "clock": clock,
        "median_ms": median(times),
        "least_ms": min(times),
        "most_ms": max(times),
        "runs": len(times),
        **facts,
    }
    print(f"{case:<52} {median(times):.4g} ms ({min(times):.4g} to {max(times):.4g})  {program}", flush=True)
    if path := os.environ.get("GRIDSTRIDE_BENCH_ROWS"):
        with open(path, "a") as file:
            print(json.dumps(line), file=file)
