"""Writes random DNA:  python3 random_sequences.py FILE LETTERS RECORDS

FASTA with lines of 80 letters, or FASTQ for names that end in .fq. Those that end in .gz too are compressed by gzip,
and those that end in .bgz in the blocks of bgzip."""

import gzip
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

LINE = 80

# Bytes of content of a block, as bgzip has them.
BLOCK = 65280


class Bgzip:
    """Writes blocks: members of gzip whose header says their size. The last one is empty."""

    def __init__(self, path):
        self.file, self.rest = open(path, "wb"), b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.write(b"", least=1)
        self.block(b"")
        self.file.close()

    def write(self, text, least=BLOCK):
        self.rest += text
        while len(self.rest) >= least:
            self.block(self.rest[:BLOCK])
            self.rest = self.rest[BLOCK:]

    def block(self, text):
        deflate = zlib.compressobj(6, wbits=-15)
        data = deflate.compress(text) + deflate.flush()
        header = struct.pack("<4BI2B3H", 0x1F, 0x8B, 8, 4, 0, 0, 0xFF, 6, 0x4342, 2)
        trailer = struct.pack("<2I", zlib.crc32(text), len(text))
        size = len(header) + 2 + len(data) + len(trailer)
        self.file.write(header + struct.pack("<H", size - 1) + data + trailer)


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


def create(path):
    match path.suffix:
        case ".gz":
            return gzip.open(path, "wb", 6)
        case ".bgz":
            return Bgzip(path)
        case _:
            return open(path, "wb")


def main():
    path, letters, records = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(1)
    write = fastq if ".fq" in path.suffixes else fasta
    with create(path) as file:
        for record in range(records):
            write(file, rng, record, letters // records)


if __name__ == "__main__":
    main()
