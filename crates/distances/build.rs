//! Embeds the kernels' PTX.

fn main() {
    embed::build_script("distances", "ptx", "../../kernels-gpu/distances");
}
