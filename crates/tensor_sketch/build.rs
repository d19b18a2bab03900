//! Embeds the kernels' PTX.

fn main() {
    embed::build_script("tensor_sketch", "ptx", "../../kernels-gpu/tensor_sketch");
}
