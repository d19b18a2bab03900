//! The library gives the answers of the articles for their data.

use article_data::pipes::{self, boxes};
use article_data::sketch::{SEED, SIZES, tables};
use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap};
use gridstride::tensor_sketch::{Form, Sequences, Tables, TensorSketch};
use ndarray::{array, s};

/// 396 137 pairs, and the first of them.
#[test]
fn pairs_of_the_article() {
    let [welds, segments] = boxes(pipes::COUNT, pipes::SEED);
    let search = BoxOverlap::new().algorithm(Algorithm::Indexed);
    let found = search
        .overlaps(&Device::cpu(), welds.view(), segments.view())
        .unwrap();
    assert_eq!(found.pair_count(), 396_137);
    let pairs = found.pairs().unwrap();
    let first = array![[0, 0], [0, 35_920], [1, 0], [1, 1], [2, 1]];
    assert_eq!(pairs.slice(s![..5, ..]), first);
}

/// The results of V0 of the article with its tables, run by Python 3.13 and numpy 2.4.
#[test]
fn sketches_of_the_article() {
    let [letters, places, dim] = SIZES;
    let [hashes, signs] = tables(letters, places, dim, SEED);
    let tables = Tables::new(hashes.view(), signs.view(), dim).unwrap();
    let long = (0..1000u32).map(|i| ((i * i + i / 3) % 4) as u8).collect();
    let mut sequences = Sequences::new();
    for codes in [vec![0, 1, 2, 3, 0, 2], long] {
        sequences.push(codes).unwrap();
    }
    for form in [Form::Direct, Form::Fourier] {
        let sketcher = TensorSketch::new(tables.clone()).double().form(form);
        let sketches = sketcher.sketch(&Device::cpu(), &sequences).unwrap();
        // Sketches are whole numbers below 2⁵³; transforms round them.
        let sketches = sketches.mapv(|entry| entry.round() as i64);
        for (l, &entry) in sketches.row(0).indexed_iter() {
            let expected = SHORT.iter().find(|(place, _)| *place == l);
            assert_eq!(entry, expected.map_or(0, |(_, entry)| *entry), "entry {l}");
        }
        assert_eq!(sketches.row(1).to_vec(), LONG);
    }
}

/// The entries of the first sketch that are not 0.
const SHORT: [(usize, i64); 15] = [
    (1, 1),
    (6, 1),
    (8, 1),
    (9, -1),
    (22, -1),
    (25, -1),
    (28, -1),
    (32, -1),
    (36, 1),
    (41, 1),
    (65, -1),
    (71, -1),
    (78, -1),
    (89, 1),
    (90, 1),
];

const LONG: [i64; 96] = [
    65_590_252,
    196_039_775,
    -319_101_302,
    127_691_018,
    -94_906_350,
    190_207_531,
    1_083_053_471,
    125_774_880,
    195_585_516,
    -322_147_237,
    -1_023_143_158,
    126_564_708,
    -322_157_694,
    539_744_352,
    2_681_979,
    -382_702_376,
    322_552_691,
    -1_164_324,
    126_162_988,
    219_963_529,
    0,
    -195_557_628,
    -446_390_185,
    -381_943_590,
    -128_869_203,
    -515_497_894,
    126_547_610,
    -224_572_436,
    128_890_202,
    515_456_228,
    -64_030_848,
    -66_747_604,
    -510_050_355,
    31_253_152,
    0,
    -253_506_983,
    385_803_754,
    61_372_939,
    -130_390_261,
    64_041_306,
    -193_263_840,
    258_888_869,
    226_817_752,
    63_656_684,
    -127_334_284,
    -6_112_535,
    385_013_594,
    318_352_144,
    -63_272_062,
    314_842_406,
    135_799_205,
    -25_510_880,
    -124_267_351,
    -63_268_576,
    31_634_288,
    374_319_210,
    31_253_152,
    -131_183_990,
    253_094_722,
    6_116_270,
    127_343_995,
    -61_737_060,
    -190_224_795,
    -247_734_831,
    -379_587_137,
    -485_706_621,
    184_070_760,
    127_309_882,
    407_505_930,
    0,
    -386_975_050,
    -131_177_018,
    -384_164_587,
    -64_800_092,
    -229_209_148,
    1_899_040,
    -124_655_293,
    -289_663_360,
    58_226_492,
    567_532_420,
    128_823_968,
    448_705_138,
    -62_135_377,
    -321_741_532,
    199_037_486,
    -448_684_139,
    34_302_821,
    -319_405_912,
    -30_507_895,
    766_995_530,
    263_137_058,
    421_910_331,
    507_742_457,
    -763_901_124,
    -63_624_812,
    -188_669_292,
];
