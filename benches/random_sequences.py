"""Writes random DNA:  python3 random_sequences.py FILE LETTERS RECORDS

FASTA with lines of 80 letters, or FASTQ for names that end in .fq; names that end in .gz too are compressed."""

import gzip
import sys

import numpy as np

LINE = 80


def fasta(file, rng, record, letters):
    file.write(b">record%d\n" % record)
    while letters > 0:
        count = min(letters, LINE << 18)
        text = dna(rng, count)
        whole = count // LINE * LINE
        lines = np.full((count // LINE, LINE + 1), ord("\n"), np.uint8)
        lines[:, :LINE] = text[:whole].reshape(-1, LINE)
        file.write(lines.tobytes())
        if count > whole:
            file.write(text[whole:].tobytes() + b"\n")
        letters -= count


def fastq(file, rng, record, letters):
    qualities = rng.integers(ord("#"), ord("J"), letters, dtype=np.uint8)
    file.write(b"@record%d\n%s\n+\n%s\n" % (record, dna(rng, letters).tobytes(), qualities.tobytes()))


def dna(rng, count):
    return np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, count, dtype=np.uint8)]


def main():
    path, letters, records = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(1)
    write = fastq if path.removesuffix(".gz").endswith(".fq") else fasta
    with gzip.open(path, "wb", 6) if path.endswith(".gz") else open(path, "wb") as file:
        for record in range(records):
            write(file, rng, record, letters // records)


if __name__ == "__main__":
    main()
