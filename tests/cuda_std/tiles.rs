//! Copies of tiles of arrays, and barriers that count arrivals and bytes.

use super::*;
use cuda_std::host::TensorTiles;
use cuda_std_tests_kernels::tiles;

/// Words of a tile.
const WORDS: usize = tiles::TILE as usize / 4;

fn with_tiles() -> impl Iterator<Item = Device> {
    with_capability(|capability| capability == (9, 0))
}

/// The words of a tile of 16-bit numbers as they stand in shared memory.
fn expected(numbers: &[u16], array: &TensorTiles, at: [i32; 3]) -> Vec<u32> {
    let mut bytes = vec![0u8; tiles::TILE as usize];
    let [columns, rows, layers] = array.tile;
    let mut place = 0;
    for z in 0..layers as i32 {
        for y in 0..rows as i32 {
            for x in 0..columns as i32 {
                let index = [at[0] + x, at[1] + y, at[2] + z];
                let is_there = (index.iter().zip(array.lengths))
                    .all(|(&index, length)| (0..length as i64).contains(&i64::from(index)));
                if is_there {
                    let [x, y, z] = index.map(|index| index as u64);
                    let from = x + (y * array.strides[0] + z * array.strides[1]) / 2;
                    let swizzle = if array.is_swizzled {
                        place / 128 % 8 * 16
                    } else {
                        0
                    };
                    let number = numbers[from as usize].to_le_bytes();
                    bytes[place ^ swizzle..][..2].copy_from_slice(&number);
                }
                place += 2;
            }
        }
    }
    let (words, _) = bytes.as_chunks();
    words.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

#[test]
fn copied_tile() {
    // 3 matrices of 40 rows of 100 numbers, with gaps.
    let (row, matrix) = (104, 104 * 44);
    let words = random_u32(50, 3 * matrix / 2);
    let numbers: Vec<u16> = words
        .iter()
        .flat_map(|&word| [word as u16, (word >> 16) as u16])
        .collect();
    for device in with_tiles() {
        let array = device.buffer_from(&numbers).unwrap();
        let of_tile = |tile, is_swizzled| TensorTiles {
            address: array.slice().as_ptr() as u64,
            element_bytes: 2,
            lengths: [100, 40, 3],
            strides: [2 * row as u64, 2 * matrix as u64],
            tile,
            is_swizzled,
        };
        for array in [
            of_tile([64, 16, 1], true),
            of_tile([64, 8, 2], true),
            of_tile([64, 16, 1], false),
            of_tile([8, 64, 2], false),
            of_tile([256, 4, 1], false),
        ] {
            let map = device.tensor_map(&array).unwrap();
            for at in [
                [0, 0, 0],
                [32, 24, 1],
                [64, 32, 2],
                [-8, -3, 0],
                [96, 39, -1],
                [200, 0, 0],
            ] {
                let mut out = device.zeros::<u32>(WORDS).unwrap();
                let config = LaunchConfig::new(1, 128).with_shared_bytes(tiles::TILE + 8);
                // SAFETY: the map has tiles of this size, and `out` has a tile's words.
                unsafe {
                    launch(
                        &device,
                        &tiles::copied_tile,
                        config,
                        (map, at, out.slice_mut()),
                    )
                };
                let expected = expected(&numbers, &array, at);
                assert_eq!(
                    out.to_vec().unwrap(),
                    expected,
                    "{device}, {array:?}, {at:?}"
                );
            }
        }
    }
}

#[test]
fn summed_tiles() {
    for rounds in [0, 1, 2, 3, 4, 7, 20] {
        let words = random_u32(51, WORDS * rounds.max(1));
        let sum = |i: usize| {
            (words.chunks(WORDS).take(rounds)).fold(0, |sum: u32, tile| sum.wrapping_add(tile[i]))
        };
        let expected: Vec<_> = (0..WORDS).map(sum).collect();
        for device in with_tiles() {
            let array = device.buffer_from(&words).unwrap();
            let of_rounds = TensorTiles {
                address: array.slice().as_ptr() as u64,
                element_bytes: 4,
                lengths: [32, 16 * rounds.max(1) as u64, 1],
                strides: [128, tiles::TILE as u64 * rounds.max(1) as u64],
                tile: [32, 16, 1],
                is_swizzled: false,
            };
            let map = device.tensor_map(&of_rounds).unwrap();
            let mut out = device.zeros::<u32>(WORDS).unwrap();
            let shared_bytes = tiles::STAGES * (tiles::TILE + 16);
            let config = LaunchConfig::new(1, 384).with_shared_bytes(shared_bytes);
            let arguments = (map, rounds as u32, out.slice_mut());
            // SAFETY: a tile for each round, and shared memory for all stages.
            unsafe { launch(&device, &tiles::summed_tiles, config, arguments) };
            assert_eq!(out.to_vec().unwrap(), expected, "{device}, {rounds} rounds");
        }
    }
}

#[test]
fn shared_tiles() {
    for rounds in [1, 2, 3, 8] {
        let words = random_u32(53, WORDS * rounds);
        let sum =
            |i: usize| (words.chunks(WORDS)).fold(0, |sum: u32, tile| sum.wrapping_add(tile[i]));
        let expected: Vec<_> = (0..WORDS).map(sum).collect();
        for device in with_tiles() {
            let array = device.buffer_from(&words).unwrap();
            let halves = TensorTiles {
                address: array.slice().as_ptr() as u64,
                element_bytes: 4,
                lengths: [32, 16 * rounds as u64, 1],
                strides: [128, tiles::TILE as u64 * rounds as u64],
                tile: [32, 8, 1],
                is_swizzled: false,
            };
            let map = device.tensor_map(&halves).unwrap();
            let blocks = 6;
            let mut out = device.zeros::<u32>(blocks * WORDS).unwrap();
            let config = LaunchConfig::new(blocks as u32, 128).with_shared_bytes(tiles::TILE + 16);
            let arguments = (map, rounds as u32, out.slice_mut());
            // SAFETY: two halves for each round, and shared memory for a tile and the barriers.
            unsafe { launch(&device, &tiles::shared_tiles, config, arguments) };
            for sums in out.to_vec().unwrap().chunks(WORDS) {
                assert_eq!(sums, expected, "{device}, {rounds} rounds");
            }
        }
    }
}

#[test]
fn cut_clusters_are_refused() {
    let device = simulator();
    let mut out = device.zeros::<u32>(3 * WORDS).unwrap();
    let config = LaunchConfig::new(3, 128).with_shared_bytes(tiles::TILE + 16);
    let arguments = (
        cuda_std::tensor::TensorMap::from_words([0; 16]),
        0,
        out.slice_mut(),
    );
    // SAFETY: it is refused.
    let error = unsafe { device.launch(&MODULE, &tiles::shared_tiles, config, arguments) };
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("no multiple of its clusters of 2"),
        "{message}"
    );
}

#[test]
fn impossible_maps_are_refused() {
    let possible = TensorTiles {
        address: 256,
        element_bytes: 2,
        lengths: [64, 64, 1],
        strides: [128, 8192],
        tile: [64, 8, 1],
        is_swizzled: true,
    };
    let device = simulator();
    device.tensor_map(&possible).unwrap();
    for (wrong, what) in [
        (
            TensorTiles {
                address: 8,
                ..possible
            },
            "address",
        ),
        (
            TensorTiles {
                element_bytes: 3,
                ..possible
            },
            "elements have 3 bytes",
        ),
        (
            TensorTiles {
                lengths: [64, 0, 1],
                ..possible
            },
            "lengths",
        ),
        (
            TensorTiles {
                strides: [120, 8192],
                ..possible
            },
            "strides",
        ),
        (
            TensorTiles {
                strides: [128, 1 << 40],
                ..possible
            },
            "strides",
        ),
        (
            TensorTiles {
                tile: [64, 257, 1],
                ..possible
            },
            "tile's lengths",
        ),
        (
            TensorTiles {
                tile: [60, 8, 1],
                is_swizzled: false,
                ..possible
            },
            "no multiple of 16",
        ),
        (
            TensorTiles {
                tile: [32, 8, 1],
                ..possible
            },
            "swizzled",
        ),
    ] {
        let message = device.tensor_map(&wrong).unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
    let message = Device::cpu().tensor_map(&possible).unwrap_err().to_string();
    assert_eq!(
        message,
        "device cpu cannot be used: the CPU runs no kernels that take tensor maps: use \
         Device::simulator() or a GPU"
    );
}
