//! Code that several subcommands use.

pub mod choice;
pub mod device_names;
pub mod device_summary;
pub mod generated;
pub mod host;
pub mod name_width;
pub mod number_type;
pub mod opening;
pub mod repeated;
pub mod spearman;
pub mod table_args;
