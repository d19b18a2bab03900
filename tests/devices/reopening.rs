//! Closes a GPU and opens it again, in a separate process, since other tests keep the GPU open.

use fake_driver::in_own_process;
use gridstride::device::DeviceArray;
use gridstride::distances::Distances;
use ndarray::array;

use crate::common::open_cuda;

#[test]
fn a_gpu_can_be_opened_again() {
    in_own_process(a_gpu_can_be_opened_again, |_| {}, open_again);
}

fn open_again() {
    for side in [1.0f32, 2.0, 3.0] {
        let (Some(one), Some(other)) = (open_cuda(), open_cuda()) else {
            return;
        };
        assert!(one.same_as(&other));
        let points: DeviceArray<f32, _> = one.upload(&array![[0.0], [side]]).unwrap();
        drop(one);
        let distances = Distances::new().pairwise_device(&points).unwrap();
        drop((other, points));
        let side = f64::from(side);
        let expected = array![[0.0, side], [side, 0.0]];
        assert_eq!(distances.download().unwrap(), expected);
    }
}
