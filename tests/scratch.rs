//! scratch
mod common;
use gridstride::Device;
use gridstride::tensor_sketch::*;
use ndarray::*;
fn codes(n: usize, a: usize, seed: u64) -> Vec<u8> {
    let mut x = seed.wrapping_mul(77777) + 1;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            ((x >> 20) % a as u64) as u8
        })
        .collect()
}
#[test]
fn quick() {
    let sim = Device::simulator().unwrap();
    for (a, t, d) in [
        (4, 4, 96),
        (4, 1, 1),
        (4, 2, 2),
        (2, 3, 33),
        (20, 4, 97),
        (256, 8, 40),
        (4, 8, 31),
        (5, 5, 64),
        (4, 6, 100),
        (4, 7, 16),
        (3, 3, 128),
    ] {
        let tables = Tables::from_seed(a, t, d, 5).unwrap();
        let seqs: Sequences = [
            0usize, 1, 2, 3, 4, 5, 9, 31, 32, 33, 100, 2047, 2048, 2049, 5000,
        ]
        .map(|n| codes(n, a, n as u64))
        .iter()
        .collect();
        let now = std::time::Instant::now();
        let got = TensorSketch::new(tables.clone())
            .form(Form::Fourier)
            .normalize(true)
            .sketch_rows(&sim, &seqs)
            .unwrap();
        let t1 = now.elapsed();
        let got2 = TensorSketch::new(tables.clone())
            .double()
            .normalize(true)
            .sketch(&sim, &seqs)
            .unwrap();
        let t2 = now.elapsed();
        let mut worst: f64 = 0.0;
        let mut worst2: f64 = 0.0;
        for i in 0..seqs.len() {
            let mut r = reference::tensor_sketch(seqs.get(i).unwrap(), &tables);
            reference::normalize(&mut r, seqs.get(i).unwrap().len() as u64);
            for (x, y) in got.index_axis(Axis(0), i).iter().zip(&r) {
                worst = worst.max((*x as f64 - y).abs());
            }
            for (x, y) in got2.row(i).iter().zip(r.row(t)) {
                worst2 = worst2.max((*x - y).abs());
            }
        }
        println!(
            "{a} {t} {d}: {worst:.2e} {worst2:.2e}   {t1:?} {:?}",
            t2 - t1
        );
    }
}
