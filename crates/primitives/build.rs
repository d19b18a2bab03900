//! Embeds the kernels' PTX.

fn main() {
    embed::build_script("primitives", "ptx", "../../kernels-gpu/primitives");
}
