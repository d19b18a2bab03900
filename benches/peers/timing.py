"""How the peers' times are taken on a GPU, by CUDA events, and how they are shown."""


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


def median(times):
    """The one in the middle."""
    return sorted(times)[len(times) // 2]


def said(times, digits=3):
    """The median, with the least and the most in brackets."""
    numbers = median(times), min(times), max(times)
    return "{} ({}-{})".format(*(f"{number:.{digits}f}" for number in numbers))
