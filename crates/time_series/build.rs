//! Embeds the kernels' PTX.

fn main() {
    embed::build_script("time_series", "ptx", "../../kernels-gpu/time_series");
}
