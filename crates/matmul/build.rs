//! Embeds the kernels' PTX.

fn main() {
    embed::build_script("matmul", "ptx", "../../kernels-gpu/matmul");
}
