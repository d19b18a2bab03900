//! Operations of warps.

use crate::collective;
use crate::error::SimError;
use crate::race::IS_ENABLED;
use crate::state::{State, WarpCall};
use crate::thread::Thread;
use cuda_std::host::WarpOperation;
use cuda_std::warp::WARP_SIZE;

/// Returns the mask of the lanes of `warp` that wait in the same operation as `call`.
pub(crate) fn arrived(warp: &[Thread<'_>], call: &WarpCall) -> u32 {
    let mut arrived = 0;
    for (lane, thread) in warp.iter().enumerate() {
        if let State::Warp(other) = thread.state.get()
            && call.is_same_operation(&other)
        {
            arrived |= 1 << lane;
        }
    }
    arrived
}

/// Performs the operations for which all lanes of `warp` have arrived, and adds the indices of
/// their threads to `runnable`. The warp's first thread has the index `first`.
pub(crate) fn complete(
    warp: &[Thread<'_>],
    first: u32,
    runnable: &mut Vec<u32>,
) -> Result<(), SimError> {
    for thread in warp {
        // Lanes of one operation become runnable together, so each operation is performed once.
        if let State::Warp(call) = thread.state.get()
            && call.operation.threads() == WARP_SIZE
            && arrived(warp, &call) == call.mask
        {
            if thread.part.get().is_some() {
                collective::perform(warp, &call)?;
            } else {
                perform(warp, &call)?;
            }
            let lanes = (0..WARP_SIZE).filter(|lane| call.mask >> lane & 1 == 1);
            // A warp has read its operands when its wait is over, whichever lane says so to others.
            let orders = matches!(
                call.operation,
                WarpOperation::Sync | WarpOperation::WgmmaWait
            );
            if IS_ENABLED && orders {
                thread.meet(lanes.clone().map(|lane| (first + lane) as usize));
            }
            runnable.extend(lanes.map(|lane| first + lane));
        }
    }
    Ok(())
}

/// Sets the result of every lane of the call's mask. All lanes have arrived.
fn perform(warp: &[Thread<'_>], call: &WarpCall) -> Result<(), SimError> {
    let lanes = |thread: &(usize, &Thread<'_>)| call.mask >> thread.0 & 1 == 1;
    let mut values = [0; WARP_SIZE as usize];
    let mut arguments = [0; WARP_SIZE as usize];
    for (lane, thread) in warp.iter().enumerate().filter(lanes) {
        if let State::Warp(call) = thread.state.get() {
            (values[lane], arguments[lane]) = (call.value, call.argument);
        }
    }
    let lanes_where = |holds: &dyn Fn(u32) -> bool| {
        let all = 0..WARP_SIZE;
        all.filter(|&lane| call.mask >> lane & 1 == 1 && holds(values[lane as usize]))
            .fold(0, |found, lane| found | 1 << lane)
    };
    let ballot = lanes_where(&|value| value != 0);
    for (lane, thread) in warp.iter().enumerate().filter(lanes) {
        let result = match call.operation {
            WarpOperation::Ballot => ballot,
            WarpOperation::MatchAny => lanes_where(&|value| value == values[lane]),
            WarpOperation::Sync => 0,
            shuffle => {
                let source = source(shuffle, lane as u32, arguments[lane]);
                if call.mask >> source & 1 == 0 {
                    return Err(SimError::ShuffleFromOutside {
                        place: thread.place(),
                        operation: shuffle,
                        mask: call.mask,
                        lane: source,
                        site: call.site,
                    });
                }
                values[source as usize]
            }
        };
        thread.result.set(result);
        thread.state.set(State::Runnable);
    }
    Ok(())
}

/// Returns the lane from which `lane` reads. The hardware takes the argument modulo 32.
fn source(shuffle: WarpOperation, lane: u32, argument: u32) -> u32 {
    let argument = argument % WARP_SIZE;
    match shuffle {
        WarpOperation::ShuffleIdx => argument,
        WarpOperation::ShuffleXor => lane ^ argument,
        WarpOperation::ShuffleUp => lane.checked_sub(argument).unwrap_or(lane),
        _ if lane + argument < WARP_SIZE => lane + argument,
        _ => lane,
    }
}

/// Returns the error of an operation, called by `warp[waiting]` as `call`, that others never reach.
pub(crate) fn missing(warp: &[Thread<'_>], waiting: usize, call: &WarpCall) -> SimError {
    let absent = call.mask & !arrived(warp, call);
    let missing = warp.iter().enumerate();
    let missing = missing.filter(|(lane, _)| absent >> lane & 1 == 1);
    SimError::LanesMissing {
        place: warp[waiting].place(),
        operation: call.operation,
        mask: call.mask,
        site: call.site,
        missing: missing
            .filter_map(|(lane, thread)| Some((lane as u32, thread.state.get().activity()?)))
            .collect(),
    }
}
