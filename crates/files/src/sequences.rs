//! Sequences of letters: FASTA and FASTQ.
