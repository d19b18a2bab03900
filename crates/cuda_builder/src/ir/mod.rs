//! Changes of LLVM IR for what rustc cannot express.
//!
//! rustc knows neither address spaces, nor convergent inline assembly, nor launch bounds, nor the
//! scopes of atomics. It is asked for the IR before any of LLVM's optimisations, they are put in,
//! and LLVM's `opt` then optimises with full knowledge.

mod atomics;
mod constant_names;
mod constants;
mod convergent;
mod launch_bounds;
mod line;
mod parameters;
mod statics;
mod wide_floats;

use crate::BuildError;

/// All the rewriting, in the order in which it has to happen; `constant_memory`: with immutable
/// statics in constant memory.
pub(crate) fn rewrite(ir: &str, constant_memory: bool) -> Result<String, BuildError> {
    let ir = constant_names::in_ptx(ir)?;
    let ir = parameters::by_value(&ir);
    let ir = match constant_memory {
        true => constants::to_section(&ir),
        false => ir,
    };
    // The markers are inline assembly: they go before inline assembly is marked.
    let ir = launch_bounds::from_markers(&ir)?;
    let ir = statics::to_address_spaces(&ir)?;
    let ir = atomics::of_device_scope(&ir);
    let ir = wide_floats::to_calls(&ir);
    Ok(convergent::mark(&ir))
}
