//! A session on each device.

use std::collections::VecDeque;
use std::thread;

use gridstride::tensor_sketch::{Entry, SketchSession, TensorSketch};
use gridstride::{Device, Error, Result};
use ndarray::Array2;

/// Numbers of finished sketches that wait for those of sequences before theirs. Where there are
/// more, the next sequences go to the session that is behind.
const AHEAD: usize = 1 << 22;

/// Sketches sequences in order, each in the session that has the fewest letters to compute: a
/// [`SketchSession`] over several devices.
///
/// A session takes 25 million letters before it waits. While longer sequences come one after the
/// other, one device works at a time.
pub struct Sessions<T: Entry> {
    sessions: Vec<Session<T>>,
    /// The finished sketches of each session that were not taken.
    finished: Vec<VecDeque<T>>,
    /// The sessions of the sequences that have ended and were not taken, in order.
    order: VecDeque<usize>,
    /// The session of the current sequence, if that has begun.
    current: Option<usize>,
    /// Number of sequences that have ended.
    ended: usize,
    dim: usize,
}

/// One session, and its sequences.
struct Session<T: Entry> {
    session: SketchSession<T>,
    /// Letters that went into it.
    pushed: u64,
    /// The numbers of the sequences that went into it and have not come out.
    sequences: VecDeque<usize>,
    /// Number of sketches that were returned.
    received: usize,
}

impl<T: Entry> Sessions<T> {
    pub fn new(sketcher: &TensorSketch<T>, devices: &[Device]) -> Result<Sessions<T>> {
        let session = |device: &Device| {
            Ok(Session {
                session: sketcher.session(device)?,
                pushed: 0,
                sequences: VecDeque::new(),
                received: 0,
            })
        };
        Ok(Sessions {
            sessions: devices.iter().map(session).collect::<Result<_>>()?,
            finished: vec![VecDeque::new(); devices.len()],
            order: VecDeque::new(),
            current: None,
            ended: 0,
            dim: sketcher.tables().dim(),
        })
    }

    /// Adds letters to the current sequence.
    pub fn push(&mut self, codes: &[u8]) -> Result<()> {
        let current = self.current();
        let session = &mut self.sessions[current];
        session.pushed += codes.len() as u64;
        let pushed = session.session.push(codes);
        pushed.map_err(|error| session.renumbered(error, self.ended))
    }

    /// Ends the current sequence, which may be empty.
    pub fn end_sequence(&mut self) -> Result<()> {
        let current = self.current();
        self.current = None;
        if self.sessions.len() > 1 {
            self.order.push_back(current);
        }
        let (session, number) = (&mut self.sessions[current], self.ended);
        session.sequences.push_back(number);
        self.ended += 1;
        let ended = session.session.end_sequence();
        ended.map_err(|error| session.renumbered(error, number))
    }

    /// Returns the finished sketches in the order of sequences, without waiting.
    pub fn take_finished(&mut self) -> Result<Array2<T>> {
        // The sketches of one session are in order.
        let is_single = self.sessions.len() == 1;
        for (session, finished) in self.sessions.iter_mut().zip(&mut self.finished) {
            let rows = session.session.take_finished();
            let rows = rows.map_err(|error| session.renumbered(error, self.ended))?;
            session.sequences.drain(..rows.nrows());
            session.received += rows.nrows();
            if is_single {
                return Ok(rows);
            }
            finished.extend(rows);
        }
        Ok(self.take_in_order())
    }

    /// Waits for all sketches, and returns those that were not taken.
    pub fn finish(mut self) -> Result<Array2<T>> {
        let (mut sessions, ended) = (std::mem::take(&mut self.sessions), self.ended);
        let is_single = sessions.len() == 1;
        if let Some(session) = sessions.pop_if(|_| is_single) {
            return session.finish(ended);
        }
        // At the same time, because a session begins with its last letters only now.
        let rows = thread::scope(|scope| {
            let finish = |session| {
                let thread = thread::Builder::new().name("session".into());
                thread.spawn_scoped(scope, move || Session::finish(session, ended))
            };
            let threads: Vec<_> = sessions.into_iter().map(finish).collect();
            let rows = threads.into_iter().map(|thread| {
                let thread = thread.map_err(|error| Error::Unavailable {
                    device: "cpu".into(),
                    reason: format!("a session needs a thread: {error}"),
                })?;
                thread.join().expect("sketching does not panic")
            });
            rows.collect::<Result<Vec<_>>>()
        })?;
        for (finished, rows) in self.finished.iter_mut().zip(rows) {
            finished.extend(rows);
        }
        Ok(self.take_in_order())
    }

    /// Letters that have been computed.
    pub fn letters_computed(&self) -> u64 {
        let sessions = self.sessions.iter();
        sessions.map(|one| one.session.letters_computed()).sum()
    }

    /// Returns the session of the current sequence. A new sequence gets one.
    fn current(&mut self) -> usize {
        if let Some(current) = self.current {
            return current;
        }
        let ahead: usize = self.finished.iter().map(VecDeque::len).sum();
        let session = match self.order.front() {
            Some(&behind) if ahead > AHEAD => behind,
            _ => {
                let left = |i: &usize| self.sessions[*i].letters_left();
                let least = (0..self.sessions.len()).min_by_key(left);
                least.expect("there is a device")
            }
        };
        self.current = Some(session);
        session
    }

    fn take_in_order(&mut self) -> Array2<T> {
        let mut numbers = Vec::new();
        while let Some(&first) = self.order.front() {
            let finished = &mut self.finished[first];
            if finished.len() < self.dim {
                break;
            }
            numbers.extend(finished.drain(..self.dim));
            self.order.pop_front();
        }
        let shape = (numbers.len() / self.dim, self.dim);
        Array2::from_shape_vec(shape, numbers).expect("whole rows")
    }
}

impl<T: Entry> Session<T> {
    /// Letters that have not been computed.
    fn letters_left(&self) -> u64 {
        self.pushed - self.session.letters_computed()
    }

    fn finish(self, current: usize) -> Result<Array2<T>> {
        let Session {
            session,
            sequences,
            received,
            ..
        } = self;
        let rows = session.finish();
        rows.map_err(|error| renumbered::<T>(error, &sequences, received, current))
    }

    fn renumbered(&self, error: Error, current: usize) -> Error {
        renumbered::<T>(error, &self.sequences, self.received, current)
    }
}

/// Returns an error about a sequence of a session with the number of the sequence among all.
fn renumbered<T: Entry>(
    error: Error,
    sequences: &VecDeque<usize>,
    received: usize,
    current: usize,
) -> Error {
    let Error::Overflow {
        operation, index, ..
    } = error
    else {
        return error;
    };
    let place = index.checked_sub(received);
    let number = place.and_then(|place| sequences.get(place));
    let number = number.copied().unwrap_or(current);
    let remedy = match T::NAME {
        "f32" => "--normalize or --f64",
        _ => "--normalize",
    };
    Error::Overflow {
        operation,
        index: number,
        message: format!(
            "the sketch of sequence {number} leaves the range of {}: {remedy} keeps it in range",
            T::NAME
        ),
    }
}

#[cfg(test)]
mod tests {
    use gridstride::tensor_sketch::Tables;

    use super::*;

    /// While a sketch is missing, sequences go to the other session only until [`AHEAD`] numbers
    /// wait for that sketch.
    #[test]
    fn sketches_that_wait_are_bounded() {
        let dim = 8;
        let sketcher = TensorSketch::<f32>::new(Tables::from_seed(4, 2, dim, 0).unwrap());
        let devices = [Device::cpu(), Device::cpu()];
        let mut sessions = Sessions::new(&sketcher, &devices).unwrap();
        sessions.end_sequence().unwrap();
        assert_eq!(sessions.order, [0]);
        // The first session has far more left to compute than the other will ever get.
        sessions.sessions[0].pushed = u64::MAX / 2;
        sessions.finished[1] = VecDeque::from(vec![0.0; AHEAD - dim]);
        for ahead in [AHEAD - dim, AHEAD] {
            assert_eq!(sessions.finished[1].len(), ahead);
            assert_eq!(sessions.current(), 1);
            sessions.current = None;
            sessions.finished[1].extend(vec![0.0; dim]);
        }
        assert_eq!(sessions.current(), 0);
    }
}
