"""How the programs of PyTorch are timed: by CUDA events."""

import torch


def times_ms(call, runs, calls=1):
    """The times of a call in ms, sorted: `calls` are made one after the other between two events."""
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


def median_ms(call, runs):
    """The median of the times of a call in ms, after one that is not timed."""
    return times_ms(call, runs)[runs // 2]
