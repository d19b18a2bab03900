//! Embeds the kernels' PTX.

fn main() {
    embed::build_script("box_overlap", "ptx", "../../kernels-gpu/box_overlap");
}
