use gridstride::distances::{Distances, Metric, distances, pairwise};
use ndarray::{Array2, array};

use super::everywhere;

/// Distances that are whole numbers, and so exact.
#[test]
fn every_form_gives_the_same() {
    let (a, b) = (
        array![[0.0, 0.0], [3.0, 4.0]],
        array![[6.0, 8.0], [3.0, 4.0], [0.0, 0.0]],
    );
    let to_b = array![[10.0, 5.0, 0.0], [5.0, 0.0, 5.0]];
    let to_each_other = array![[0.0, 5.0], [5.0, 0.0]];
    everywhere(|device, set| {
        let is_to_b = |found: &Array2<f64>| assert_eq!(found, to_b, "{device}");
        let is_to_each_other = |found: &Array2<f64>| assert_eq!(found, to_each_other, "{device}");
        let options = Distances::new().metric(Metric::L2);

        is_to_b(&distances(device, a.view(), b.view()).unwrap());
        is_to_b(&options.distances(device, a.view(), b.view()).unwrap());
        is_to_b(&options.distances(set, a.view(), b.view()).unwrap());
        is_to_each_other(&pairwise(device, a.view()).unwrap());
        is_to_each_other(&options.pairwise(device, a.view()).unwrap());
        is_to_each_other(&options.pairwise(set, a.view()).unwrap());

        let (mut wide, mut square) = (Array2::zeros((2, 3)), Array2::zeros((2, 2)));
        options
            .distances_into(device, a.view(), b.view(), wide.view_mut())
            .unwrap();
        is_to_b(&wide);
        wide.fill(f64::NAN);
        options
            .distances_into(set, a.view(), b.view(), wide.view_mut())
            .unwrap();
        is_to_b(&wide);
        options
            .pairwise_into(device, a.view(), square.view_mut())
            .unwrap();
        is_to_each_other(&square);
        square.fill(f64::NAN);
        options
            .pairwise_into(set, a.view(), square.view_mut())
            .unwrap();
        is_to_each_other(&square);

        let [a, b] = [&a, &b].map(|rows| device.upload(rows).unwrap());
        is_to_b(
            &options
                .distances_device(&a, &b)
                .unwrap()
                .download()
                .unwrap(),
        );
        is_to_each_other(&options.pairwise_device(&a).unwrap().download().unwrap());
        let mut wide = device.upload(&Array2::from_elem((2, 3), f64::NAN)).unwrap();
        options.distances_device_into(&a, &b, &mut wide).unwrap();
        is_to_b(&wide.download().unwrap());
        let mut square = device.upload(&Array2::from_elem((2, 2), f64::NAN)).unwrap();
        options.pairwise_device_into(&a, &mut square).unwrap();
        is_to_each_other(&square.download().unwrap());
    });
}
