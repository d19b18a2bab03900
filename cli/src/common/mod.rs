//! What the subcommands share.

pub mod axis;
pub mod choice;
pub mod device_name;
pub mod device_names;
pub mod device_summary;
pub mod generated;
pub mod host;
pub mod name_width;
pub mod number_type;
pub mod opening;
pub mod output;
pub mod progress;
pub mod repeated;
pub mod report;
pub mod sequences;
pub mod spearman;
pub mod table_args;
