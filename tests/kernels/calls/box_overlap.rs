use gridstride::box_overlap::{BoxOverlap, Overlaps, overlaps, self_overlaps};
use ndarray::{Array1, Array2, array};

use super::everywhere;

#[test]
fn every_form_gives_the_same() {
    let set1 = array![[0, 0, 2, 2], [1, 1, 3, 3], [5, 5, 6, 6]];
    let set2 = array![[2, 2, 4, 4], [9, 9, 9, 9]];
    let pairs = array![[0u32, 0], [1, 0]];
    let (counts, self_counts) = (array![1u32, 1, 0], array![1u32, 0, 0]);
    let matrix = array![[0], [0], [-1]];
    everywhere(|device, set| {
        let is_pairs = |found: Overlaps| assert_eq!(found.pairs().unwrap(), pairs, "{device}");
        let is_self =
            |found: Overlaps| assert_eq!(found.pairs().unwrap(), array![[0u32, 1]], "{device}");
        let is_counts = |found: &Array1<u32>| assert_eq!(found, counts, "{device}");
        let is_self_counts = |found: &Array1<u32>| assert_eq!(found, self_counts, "{device}");
        let is_matrix = |found: &Array2<i32>| assert_eq!(found, matrix, "{device}");
        let search = BoxOverlap::new();
        let (a, b) = (set1.view(), set2.view());

        is_pairs(overlaps(device, a, b).unwrap());
        is_pairs(search.overlaps(device, a, b).unwrap());
        is_pairs(search.overlaps(set, a, b).unwrap());
        is_self(self_overlaps(device, a).unwrap());
        is_self(search.self_overlaps(device, a).unwrap());
        is_self(search.self_overlaps(set, a).unwrap());
        is_counts(&search.counts(device, a, b).unwrap());
        is_counts(&search.counts(set, a, b).unwrap());
        is_self_counts(&search.self_counts(device, a).unwrap());
        is_self_counts(&search.self_counts(set, a).unwrap());
        is_matrix(&search.matrix(device, a, b, 1).unwrap().indices);
        is_matrix(&search.matrix(set, a, b, 1).unwrap().indices);

        let mut out = Array1::from_elem(3, u32::MAX);
        search.counts_into(device, a, b, out.view_mut()).unwrap();
        is_counts(&out);
        search.self_counts_into(set, a, out.view_mut()).unwrap();
        is_self_counts(&out);

        for devices in [std::slice::from_ref(device), set] {
            let slices = search.slices(devices, a, b, 1).unwrap();
            let found = slices
                .map(|slice| slice.unwrap().overlaps.pair_count())
                .sum::<usize>();
            assert_eq!(found, 2, "{device}");
            let slices = search.self_slices(devices, a, 1).unwrap();
            let found = slices
                .map(|slice| slice.unwrap().overlaps.pair_count())
                .sum::<usize>();
            assert_eq!(found, 1, "{device}");
        }

        let [a, b] = [&set1, &set2].map(|boxes| device.upload(boxes).unwrap());
        is_pairs(search.overlaps_device(&a, &b).unwrap().download().unwrap());
        is_self(search.self_overlaps_device(&a).unwrap().download().unwrap());
        is_counts(&search.counts_device(&a, &b).unwrap().download().unwrap());
        is_self_counts(&search.self_counts_device(&a).unwrap().download().unwrap());
        let found = search.matrix_device(&a, &b, 1).unwrap();
        let found = found.download().unwrap();
        is_matrix(&found.indices);
        is_counts(&found.counts);
        let mut out = device.upload(&Array1::from_elem(3, u32::MAX)).unwrap();
        search.counts_device_into(&a, &b, &mut out).unwrap();
        is_counts(&out.download().unwrap());
        search.self_counts_device_into(&a, &mut out).unwrap();
        is_self_counts(&out.download().unwrap());
    });
}
