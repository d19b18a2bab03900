//! Embeds the kernels' PTX.

fn main() {
    embed::build_script("edit_distance", "ptx", "../../kernels-gpu/edit_distance");
}
