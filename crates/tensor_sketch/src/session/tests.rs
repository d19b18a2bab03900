use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use ndarray::s;
use proptest::prelude::*;
use rayon::prelude::*;

use super::super::{Sequences, Tables};
use super::*;

/// Small enough that short sequences have several segments.
const LIMITS: Limits = Limits {
    segment: 10,
    sequences: 4,
};

fn sketcher() -> TensorSketch<f64> {
    TensorSketch::new(Tables::from_seed(4, 3, 7, 5).unwrap()).double()
}

/// A session with these limits, on the CPU.
fn small_session(limits: Limits) -> SketchSession<f64> {
    let engine = sketcher().engine(&Device::cpu()).unwrap();
    SketchSession::new(&sketcher(), engine, limits).unwrap()
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * i % 31 % 4) as u8).collect()
}

fn expected(texts: &[Vec<u8>]) -> Array2<f64> {
    let sequences: Sequences = texts.iter().collect();
    sketcher().sketch(&Device::cpu(), &sequences).unwrap()
}

/// Pushes the texts, `step` letters at a time.
fn feed<T: Entry>(session: &mut SketchSession<T>, texts: &[Vec<u8>], step: usize) -> Result<()> {
    for text in texts {
        for letters in text.chunks(step) {
            session.push(letters)?;
        }
        session.end_sequence()?;
    }
    Ok(())
}

/// An engine that calls a function for each batch, and holds back the rows of the last `lag`
/// batches, as the engine of a GPU does.
struct Custom<F> {
    engine: Box<dyn Engine<f64>>,
    before: F,
    lag: usize,
    kept: Vec<Vec<f64>>,
}

impl<F: FnMut(&Batch) -> Result<()> + Send> Engine<f64> for Custom<F> {
    fn submit(&mut self, batch: &Batch, rows: &mut Vec<f64>) -> Result<()> {
        (self.before)(batch)?;
        let mut made = Vec::new();
        self.engine.submit(batch, &mut made)?;
        self.kept.push(made);
        if self.kept.len() > self.lag {
            rows.extend(self.kept.remove(0));
        }
        Ok(())
    }

    fn drain(&mut self, rows: &mut Vec<f64>) -> Result<()> {
        rows.extend(self.kept.drain(..).flatten());
        self.engine.drain(rows)
    }
}

fn custom(
    lag: usize,
    before: impl FnMut(&Batch) -> Result<()> + Send + 'static,
) -> SketchSession<f64> {
    let engine = Custom {
        engine: sketcher().engine(&Device::cpu()).unwrap(),
        before,
        lag,
        kept: Vec::new(),
    };
    SketchSession::new(&sketcher(), Box::new(engine), LIMITS).unwrap()
}

#[test]
fn lengths_around_the_segment() {
    let texts: Vec<_> = [9, 10, 11, 0, 19, 20, 21, 0, 0, 0, 0, 0, 1, 100, 30]
        .map(text)
        .into();
    for step in [1, 3, 10, 11, 1000] {
        let mut session = small_session(LIMITS);
        feed(&mut session, &texts, step).unwrap();
        let sketches = session.finish().unwrap();
        assert_eq!(sketches, expected(&texts), "{step} at a time");
    }
}

/// Rounded sums depend on the order of additions, which must be that of a single call.
#[test]
fn sequences_longer_than_a_segment() {
    let tables = Tables::from_seed(4, 2, 3, 7).unwrap();
    let texts = [SEGMENT + 12_345, 40_000, SEGMENT, 3].map(text);
    let sequences: Sequences = texts.iter().collect();
    for form in [Form::Fourier, Form::Direct] {
        let sketcher = TensorSketch::new(tables.clone()).form(form).normalize(true);
        let mut session = sketcher.session(&Device::cpu()).unwrap();
        feed(&mut session, &texts, 1_234_567).unwrap();
        let expected = sketcher.sketch(&Device::cpu(), &sequences).unwrap();
        assert_eq!(session.finish().unwrap(), expected, "{form:?}");
    }
}

#[test]
fn no_sequences_and_empty_ones() {
    assert_eq!(small_session(LIMITS).finish().unwrap().dim(), (0, 7));
    for count in [1, 3, 4, 5, 1000] {
        let mut session = small_session(LIMITS);
        feed(&mut session, &vec![Vec::new(); count], 1).unwrap();
        session.push(&[]).unwrap();
        assert_eq!(session.finish().unwrap(), Array2::zeros((count, 7)));
    }
}

#[test]
fn many_tiny_sequences_taken_early() {
    let texts: Vec<_> = (0..3000).map(|i| text(i % 7)).collect();
    let expected = expected(&texts);
    for lag in [0, 1, 3] {
        let mut session = custom(lag, |_| Ok(()));
        let (mut taken, mut early) = (0, 0);
        let mut compare = |sketches: Array2<f64>| {
            let end = taken + sketches.nrows();
            assert_eq!(sketches, expected.slice(s![taken..end, ..]));
            taken = end;
        };
        for text in &texts {
            feed(&mut session, std::slice::from_ref(text), 2).unwrap();
            let sketches = session.take_finished().unwrap();
            early += sketches.nrows();
            compare(sketches);
        }
        compare(session.finish().unwrap());
        assert_eq!(taken, texts.len());
        assert!(early > texts.len() / 2, "{early} were taken early");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn divisions_do_not_matter(
        texts in prop::collection::vec(prop::collection::vec(0..4u8, 0..50), 0..12),
        steps in prop::collection::vec(1..30usize, 1..6),
        segment in 1..40usize,
        sequences in 1..6usize,
    ) {
        let mut session = small_session(Limits { segment, sequences });
        let mut steps = steps.iter().cycle();
        for text in &texts {
            let mut left = &text[..];
            while !left.is_empty() {
                let (now, later) = left.split_at((*steps.next().unwrap()).min(left.len()));
                session.push(now).unwrap();
                left = later;
            }
            session.end_sequence().unwrap();
        }
        prop_assert_eq!(session.finish().unwrap(), expected(&texts));
    }
}

#[test]
fn codes_that_are_too_large() {
    let mut session = small_session(LIMITS);
    session.push(&[0, 1, 2]).unwrap();
    session.end_sequence().unwrap();
    session.push(&text(25)).unwrap();
    let message = session.push(&[0, 3, 4, 9]).unwrap_err().to_string();
    let expected_message = "position 27 of sequence 1 is 4, but the tables have 4 letters";
    assert!(message.contains(expected_message), "{message}");
    // Nothing was added, and the session goes on.
    session.end_sequence().unwrap();
    let texts = [vec![0, 1, 2], text(25)];
    assert_eq!(session.finish().unwrap(), expected(&texts));
}

#[test]
fn a_sequence_that_was_not_ended() {
    for length in [1, 10, 25] {
        let mut session = small_session(LIMITS);
        session.end_sequence().unwrap();
        session.push(&text(length)).unwrap();
        let message = session.finish().unwrap_err().to_string();
        let expected = format!("sequence 1 has {length} letters, but has not been ended");
        assert!(message.contains(&expected), "{message}");
    }
}

/// The next call returns the error, and later calls repeat it. Earlier sketches can be taken once.
#[test]
fn an_error_in_the_middle() {
    const FAILURE: &str = "test: as it was asked to";
    let texts: Vec<_> = (0..1000).map(|_| text(10)).collect();
    let fails_at = |failing: usize| {
        let mut number = 0;
        custom(0, move |_| {
            number += 1;
            match number == failing {
                true => Err(Error::input("test", "as it was asked to")),
                false => Ok(()),
            }
        })
    };
    let repeated = format!("SketchSession: the session has stopped at an earlier error: {FAILURE}");
    for failing in [1, 2, 3, 7] {
        let mut session = fails_at(failing);
        let error = feed(&mut session, &texts, 5).unwrap_err();
        assert_eq!(error.to_string(), FAILURE);
        if failing > 1 {
            let finished = session.take_finished().unwrap();
            assert_eq!(finished, expected(&texts[..failing - 1]));
        }
        for _ in 0..2 {
            let error = session.take_finished().unwrap_err();
            assert_eq!(error.to_string(), repeated);
        }
        let error = feed(&mut session, &texts, 5).unwrap_err();
        assert_eq!(error.to_string(), repeated);
        assert_eq!(session.push(&[]).unwrap_err().to_string(), repeated);
        assert_eq!(session.end_sequence().unwrap_err().to_string(), repeated);
        assert_eq!(session.finish().unwrap_err().to_string(), repeated);
    }
    let mut session = fails_at(2);
    feed(&mut session, &texts[..2], 5).unwrap();
    assert_eq!(session.finish().unwrap_err().to_string(), FAILURE);
    let mut session = fails_at(1);
    feed(&mut session, &texts[..2], 5).unwrap();
    let error = loop {
        if let Err(error) = session.take_finished() {
            break error;
        }
        thread::yield_now();
    };
    assert_eq!(error.to_string(), FAILURE);
}

/// The sum of all tuples of 8 equal letters among 300 000 is beyond f32's range.
#[test]
fn overflow_names_the_sequence() {
    let sketcher = TensorSketch::new(Tables::from_seed(1, 8, 1, 0).unwrap());
    let mut session = sketcher.session(&Device::cpu()).unwrap();
    let texts = [5, 20, 300_000, 3].map(|length| vec![0; length]);
    feed(&mut session, &texts, 300_000).unwrap();
    let error = session.finish().unwrap_err();
    let is_overflow = matches!(error, Error::Overflow { index: 2, .. });
    assert!(is_overflow, "{error:?}");
    let message = error.to_string();
    assert!(
        message.contains("sequence 2 leaves the range of f32"),
        "{message}"
    );
}

/// Batches that nobody waits for are not computed, and the thread ends with the session.
#[test]
fn dropped_in_the_middle() {
    let (gate, passes) = mpsc::channel();
    let batches = Arc::new(AtomicUsize::new(0));
    let counter = batches.clone();
    let mut session = custom(1, move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        // An error means that the gate is gone, and lets the batch pass.
        let _ = passes.recv();
        Ok(())
    });
    // One of three batches passes, so that there is one to fill. The second waits at the gate.
    gate.send(()).unwrap();
    session.push(&text(35)).unwrap();
    while batches.load(Ordering::Relaxed) < 2 {
        thread::yield_now();
    }
    let progress = session.progress.clone();
    thread::scope(|scope| {
        let dropping = scope.spawn(move || drop(session));
        while !progress.dropped.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        assert!(!dropping.is_finished());
        drop(gate);
    });
    assert_eq!(batches.load(Ordering::Relaxed), 2);
    assert_eq!(Arc::strong_count(&batches), 1, "the engine is still there");
    for pushed in [0, 1, 10, 25] {
        let mut session = small_session(LIMITS);
        session.push(&text(pushed)).unwrap();
    }
}

#[test]
fn a_slow_engine_holds_the_caller_back() {
    let mut session = custom(0, |batch| {
        assert!(batch.codes.len() <= LIMITS.segment);
        thread::sleep(Duration::from_millis(1));
        Ok(())
    });
    let mut pushed = 0;
    for letter in text(500) {
        session.push(&[letter]).unwrap();
        pushed += 1;
        let waiting = pushed - session.letters_computed();
        let most = (BATCHES * LIMITS.segment) as u64;
        assert!(waiting <= most, "{waiting} letters wait");
    }
    session.end_sequence().unwrap();
    assert_eq!(session.finish().unwrap(), expected(&[text(500)]));
}

#[test]
fn a_panic_of_the_engine_reaches_the_caller() {
    let result = std::panic::catch_unwind(|| {
        let mut session = custom(0, |_| panic!("as it was asked to"));
        feed(&mut session, &[text(100)], 10)
    });
    let message = result.unwrap_err();
    assert_eq!(message.downcast_ref(), Some(&"as it was asked to"));
    // Also one who asks for finished sketches until they come.
    let result = std::panic::catch_unwind(|| {
        let mut session = custom(0, |_| panic!("as it was asked to"));
        feed(&mut session, &[text(5), text(10)], 10).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while session.take_finished().unwrap().is_empty() {
            assert!(Instant::now() < end, "no panic in a minute");
            thread::yield_now();
        }
    });
    let message = result.unwrap_err();
    assert_eq!(message.downcast_ref(), Some(&"as it was asked to"));
}

/// More sessions than rayon has threads, on those threads, which each engine needs too.
#[test]
fn on_threads_of_rayon() {
    let texts: Vec<_> = (0..20).map(|i| text(7 * i)).collect();
    let expected = expected(&texts);
    let count = 2 * rayon::current_num_threads() + 1;
    (0..count).into_par_iter().for_each(|i| {
        let mut finished = small_session(LIMITS);
        feed(&mut finished, &texts, 3).unwrap();
        let mut dropped = small_session(LIMITS);
        feed(&mut dropped, &texts[..i % texts.len()], 3).unwrap();
        drop(dropped);
        assert_eq!(finished.finish().unwrap(), expected);
    });
}

/// A session that waits in a capture runs a task that is no part of it.
#[test]
fn captures_do_not_record_the_tasks_that_run_meanwhile() {
    let captured = Device::simulator().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    // The session waits until the task has run.
    let mut session = custom(0, move |_| {
        let read: Result<Vec<i32>> = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        read.map(|values| assert_eq!(values, [7]))
    });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(|| {
        let device = captured.clone();
        // Would be refused in a capture.
        let task = move || drop(sender.send(device.buffer_from(&[7]).and_then(|all| all.to_vec())));
        let finish = || {
            rayon::spawn(task);
            session.push(&text(5))?;
            session.end_sequence()?;
            session.finish()
        };
        captured.capture(finish).unwrap();
    });
}
