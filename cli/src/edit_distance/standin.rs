use gridstride::{Device, Result};
use ndarray::{Array1, ArrayView2, s};
pub struct Windows<'a>(ArrayView2<'a, f32>, &'a [usize]);
impl<'a> Windows<'a> {
    pub fn new(rows: ArrayView2<'a, f32>, offsets: &'a [usize]) -> Result<Self> {
        Ok(Windows(rows, offsets))
    }
}
pub fn slide_paired(_: &[Device], a: Windows, b: Windows) -> Result<Array1<f64>> {
    Ok((0..a.1.len() - 1)
        .map(|i| {
            let n = (a.1[i + 1] - a.1[i]).min(b.1[i + 1] - b.1[i]);
            if n == 0 {
                return f64::NAN;
            }
            let x = a.0.slice(s![a.1[i]..a.1[i] + n, ..]);
            let y = b.0.slice(s![b.1[i]..b.1[i] + n, ..]);
            x.iter()
                .zip(y)
                .map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2))
                .sum::<f64>()
                .sqrt()
        })
        .collect())
}
