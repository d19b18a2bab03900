use gridstride::distances::{
    DeviceWindows, Distances, Metric, Nearest, Windows, distances, nearest, pairwise,
    slide_distances, slide_paired,
};
use ndarray::{Array1, Array2, array};

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

#[test]
fn every_form_finds_the_same_nearest_rows() {
    let (queries, database) = (
        array![[3.0, 4.0], [6.0, 7.0]],
        array![[6.0, 8.0], [3.0, 4.0], [0.0, 0.0], [3.0, 4.0]],
    );
    let expected = Nearest {
        indices: array![[1, 3], [0, 1]],
        distances: array![[0.0, 0.0], [1.0, 18f64.sqrt()]],
    };
    let options = Distances::new();
    everywhere(|device, set| {
        let (q, d) = (queries.view(), database.view());
        assert_eq!(nearest(device, q, d, 2).unwrap(), expected, "{device}");
        assert_eq!(options.nearest(set, q, d, 2).unwrap(), expected, "{device}");
        let mut found = Nearest {
            indices: Array2::zeros((2, 2)),
            distances: Array2::zeros((2, 2)),
        };
        let places = (found.indices.view_mut(), found.distances.view_mut());
        options.nearest_into(set, q, d, places.0, places.1).unwrap();
        assert_eq!(found, expected, "{device}");

        let [q, d] = [&queries, &database].map(|rows| device.upload(rows).unwrap());
        let mut there = options.nearest_device(&q, &d, 2).unwrap();
        assert_eq!(there.download().unwrap(), expected, "{device}");
        there.indices.buffer_mut().fill_zero().unwrap();
        options
            .nearest_device_into(&q, &d, &mut there.indices, &mut there.distances)
            .unwrap();
        assert_eq!(there.download().unwrap(), expected, "{device}");
    });
}

#[test]
fn every_form_gives_the_same_slide_distances() {
    let (a, b) = (
        array![[0.0, 0.0], [1.0, 1.0], [6.0, 8.0]],
        array![[3.0, 4.0], [1.0, 1.0], [9.0, 4.0]],
    );
    let (of_a, of_b) = ([0, 2, 3], [0, 1, 3]);
    // a has the sequences (0, 0), (1, 1) and (6, 8); b (3, 4) and (1, 1), (9, 4).
    let to_b = array![[5.0, 75f64.sqrt()], [5.0, 74f64.sqrt()]];
    let each = array![5.0, 74f64.sqrt()];
    let options = Distances::new();
    everywhere(|device, set| {
        let is_to_b = |found: Array2<f64>| assert_eq!(found, to_b, "{device}");
        let is_each = |found: Array1<f64>| assert_eq!(found, each, "{device}");
        let windows_a = Windows::new(a.view(), &of_a).unwrap();
        let windows_b = Windows::new(b.view(), &of_b).unwrap();
        is_to_b(slide_distances(device, windows_a, windows_b).unwrap());
        is_to_b(options.slide_distances(set, windows_a, windows_b).unwrap());
        is_each(slide_paired(device, windows_a, windows_b).unwrap());
        is_each(options.slide_paired(set, windows_a, windows_b).unwrap());
        let (mut square, mut line) = (Array2::zeros((2, 2)), Array1::zeros(2));
        options
            .slide_distances_into(set, windows_a, windows_b, square.view_mut())
            .unwrap();
        is_to_b(square);
        options
            .slide_paired_into(set, windows_a, windows_b, line.view_mut())
            .unwrap();
        is_each(line);

        let [a, b] = [&a, &b].map(|rows| device.upload(rows).unwrap());
        let windows_a = DeviceWindows::new(&a, &of_a).unwrap();
        let windows_b = DeviceWindows::new(&b, &of_b).unwrap();
        let mut square = options
            .slide_distances_device(windows_a, windows_b)
            .unwrap();
        is_to_b(square.download().unwrap());
        let mut line = options.slide_paired_device(windows_a, windows_b).unwrap();
        is_each(line.download().unwrap());
        square.buffer_mut().fill_zero().unwrap();
        line.buffer_mut().fill_zero().unwrap();
        options
            .slide_distances_device_into(windows_a, windows_b, &mut square)
            .unwrap();
        is_to_b(square.download().unwrap());
        options
            .slide_paired_device_into(windows_a, windows_b, &mut line)
            .unwrap();
        is_each(line.download().unwrap());
    });
}
