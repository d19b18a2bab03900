//! What the subcommands share.

pub mod axis;
pub mod colors;
pub mod decimal;
pub mod device_name;
pub mod device_names;
pub mod device_summary;
pub mod generated;
pub mod host;
pub mod input;
pub mod memory;
pub mod npy;
pub mod opening;
pub mod output;
pub mod progress;
pub mod random;
pub mod records;
pub mod repeated;
pub mod report;
pub mod spearman;
pub mod text;
