//! What the readers of `gridstride` share.
#![allow(dead_code)]

#[path = "../../cli/src/common/decimal.rs"]
pub mod decimal;
#[path = "../../cli/src/common/input/mod.rs"]
pub mod input;
#[path = "../../cli/src/common/memory.rs"]
pub mod memory;
#[path = "../../cli/src/common/npy.rs"]
pub mod npy;
#[path = "../../cli/src/common/progress.rs"]
pub mod progress;
#[path = "../../cli/src/common/records/mod.rs"]
pub mod records;
#[path = "../../cli/src/common/report.rs"]
pub mod report;
#[path = "../../cli/src/common/text.rs"]
pub mod text;
