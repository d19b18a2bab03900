"""Writes random DNA as FASTA, 80 letters a line:  python3 random_fasta.py FILE LETTERS RECORDS"""

import sys

import numpy as np

LINE = 80


def main():
    path, letters, records = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(1)
    with open(path, "wb") as file:
        for record in range(records):
            file.write(b">record%d\n" % record)
            left = letters // records
            while left > 0:
                count = min(left, LINE << 18)
                text = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, count, dtype=np.uint8)]
                whole = count // LINE * LINE
                lines = np.full((count // LINE, LINE + 1), ord("\n"), np.uint8)
                lines[:, :LINE] = text[:whole].reshape(-1, LINE)
                file.write(lines.tobytes())
                if count > whole:
                    file.write(text[whole:].tobytes() + b"\n")
                left -= count


if __name__ == "__main__":
    main()
