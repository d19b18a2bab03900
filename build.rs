//! Embeds the PTX of the kernel that this package launches itself.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "pipeline")]
    embed::build_script("stream", "kernels-gpu/ptx", "kernels-gpu/stream");
}
