//! Embeds the kernels' PTX.

fn main() {
    embed::build_script("row_sums", "ptx", "../../kernels-gpu/row_sums");
}
