use gridstride::edit_distance::{EditDistance, edit_distances, edit_distances_within};
use gridstride::sequences::Sequences;
use ndarray::{Array1, array};

use super::everywhere;

#[test]
fn every_form_gives_the_same() {
    let a: Sequences = ["kitten", "", "GATTACA"]
        .iter()
        .map(|text| text.as_bytes())
        .collect();
    let b: Sequences = ["sitting", "abc", "GATTACA"]
        .iter()
        .map(|text| text.as_bytes())
        .collect();
    everywhere(|device, set| {
        let check = |found: &Array1<u32>| assert_eq!(found, array![3, 3, 0], "{device}");
        let options = EditDistance::new();
        check(&edit_distances(device, &a, &b).unwrap());
        check(&options.edit_distances(device, &a, &b).unwrap());
        check(&options.edit_distances(set, &a, &b).unwrap());
        check(&options.with_limit(3).edit_distances(set, &a, &b).unwrap());
        let within = edit_distances_within(set, &a, &b, 2).unwrap();
        assert_eq!(within, array![None, None, Some(0)]);

        let mut out = Array1::zeros(3);
        options
            .edit_distances_into(device, &a, &b, out.view_mut())
            .unwrap();
        check(&out);
        out.fill(9);
        options
            .edit_distances_into(set, &a, &b, out.view_mut())
            .unwrap();
        check(&out);

        let [a, b] = [&a, &b].map(|side| side.upload(device).unwrap());
        let found = options.edit_distances_device(&a, &b).unwrap();
        check(&found.download().unwrap());
        let mut out = device.upload(&Array1::zeros(3)).unwrap();
        options
            .edit_distances_device_into(&a, &b, &mut out)
            .unwrap();
        check(&out.download().unwrap());
    });
}
