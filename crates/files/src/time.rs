//! Durations and timestamps as texts.
