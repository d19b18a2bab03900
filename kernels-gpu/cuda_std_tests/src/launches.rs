//! Parameters, bounds on blocks, and panics.

use cuda_std::prelude::*;

/// Adds `amount` to each value.
///
/// # Safety
/// The slice is valid.
#[kernel(max_block = 256)]
pub unsafe fn add_to_all(values: DeviceSliceMut<u32>, amount: u32) {
    let i = thread::global_index();
    if i < values.len() {
        // SAFETY: below the length, and one thread per index.
        unsafe { values.set(i, values.at(i) + amount) };
    }
}

/// Nothing, from nothing.
///
/// # Safety
/// Always.
#[kernel]
pub unsafe fn nothing() {}

/// Writes each parameter's bits, the signed ones extended.
///
/// # Safety
/// `out` has 12 elements.
#[kernel]
pub unsafe fn scalars(
    a: u8,
    b: f64,
    c: i8,
    d: u16,
    e: i64,
    f: i16,
    g: f32,
    h: u8,
    i: u64,
    j: i32,
    k: u32,
    out: DeviceSliceMut<u64>,
    l: isize,
) {
    let bits = [
        a as u64,
        b.to_bits(),
        c as i64 as u64,
        d as u64,
        e as u64,
        f as i64 as u64,
        g.to_bits() as u64,
        h as u64,
        i,
        j as i64 as u64,
        k as u64,
        l as u64,
    ];
    for (at, bits) in bits.into_iter().enumerate() {
        if thread::global_index() == at {
            // SAFETY: there are 12 elements.
            unsafe { out.set(at, bits) };
        }
    }
}

/// As many parameters as there may be, of mixed sizes.
///
/// # Safety
/// `out` has an element.
#[kernel(block = 1)]
pub unsafe fn many(
    a: u8,
    b: u64,
    c: u8,
    d: u8,
    e: u16,
    f: u8,
    g: u32,
    h: u8,
    i: u64,
    j: u16,
    k: u16,
    l: u64,
    m: u8,
    n: u8,
    o: u8,
    p: u32,
    q: u8,
    r: usize,
    s: u32,
    t: u16,
    u: u8,
    v: u64,
    w: u8,
    out: DeviceSliceMut<[u64; 23]>,
) {
    // Not through `From`, which is no inlined function for `usize`.
    let all = [
        a as u64, b, c as u64, d as u64, e as u64, f as u64, g as u64, h as u64, i, j as u64,
        k as u64, l, m as u64, n as u64, o as u64, p as u64, q as u64, r as u64, s as u64,
        t as u64, u as u64, v, w as u64,
    ];
    // SAFETY: an element, and a single thread.
    unsafe { out.set(0, all) };
}

/// Three bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Bytes {
    /// The first.
    pub first: u8,
    /// The second.
    pub second: i8,
    /// The third.
    pub third: u8,
}

/// One number alone.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Single {
    /// The number.
    pub number: f32,
}

/// Fields with padding between and behind them.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Mixed {
    /// Seven bytes of padding follow.
    pub byte: u8,
    /// The widest field.
    pub double: f64,
    /// Two bytes of padding follow.
    pub short: u16,
    /// An array.
    pub singles: [f32; 3],
    /// Seven bytes of padding follow.
    pub last: i8,
}

/// Two slices and a number.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Nested {
    /// What is read.
    pub input: DeviceSlice<u32>,
    /// The factor.
    pub factor: u16,
    /// What is written.
    pub out: DeviceSliceMut<u64>,
}

/// Aligned to more than any of its fields.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Aligned {
    /// The fields.
    pub words: [u32; 5],
}

/// A table that threads look into at different places.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Table {
    /// The entries.
    pub entries: [u16; 33],
}

/// Writes the fields of structs of every alignment, with a scalar between them.
///
/// # Safety
/// `nested.out` has 13 elements, `nested.input` one.
#[kernel(block = 1)]
pub unsafe fn structs(
    bytes: Bytes,
    mixed: Mixed,
    between: u8,
    single: Single,
    nested: Nested,
    aligned: Aligned,
) {
    let Nested { input, factor, out } = nested;
    // SAFETY: an element, and 13.
    unsafe {
        out.set(0, bytes.first as u64);
        out.set(1, bytes.second as i64 as u64);
        out.set(2, bytes.third as u64);
        out.set(3, mixed.byte as u64);
        out.set(4, mixed.double.to_bits());
        out.set(5, mixed.short as u64);
        let [x, y, z] = mixed.singles;
        out.set(6, (x + 10.0 * y + 100.0 * z) as u64);
        out.set(7, mixed.last as i64 as u64);
        out.set(8, between as u64);
        out.set(9, single.number.to_bits() as u64);
        out.set(10, input.at(0) as u64 * factor as u64);
        out.set(11, aligned.words[0] as u64);
        out.set(12, aligned.words[4] as u64);
    }
}

/// Looks up entry `i % 33` for thread i.
///
/// # Safety
/// `out` has an element per thread.
#[kernel(max_block = 128)]
pub unsafe fn table(table: Table, out: DeviceSliceMut<u16>) {
    let i = thread::global_index();
    // SAFETY: an element per thread.
    unsafe { out.set(i, table.entries[i % 33]) };
}

/// Copies through raw pointers.
///
/// # Safety
/// Both have `len` elements.
#[kernel(max_block = 128)]
pub unsafe fn raw_pointers(source: *const u32, target: *mut u32, len: usize) {
    for i in thread::grid_stride(len) {
        // SAFETY: below the length.
        unsafe { target.add(i).write(source.add(i).read()) };
    }
}

/// Runs in blocks of 4 × 2 × 3 alone, and counts their threads.
///
/// # Safety
/// `counts` has an element per block.
#[kernel(block = (4, 2, 3))]
pub unsafe fn exact_block(counts: DeviceSliceMut<u32>) {
    // SAFETY: an element per block.
    unsafe { atomic::add(counts.address(thread::block_idx_x() as usize), 1) };
}

/// Runs in blocks of any shape of up to 128 threads, and counts them.
///
/// # Safety
/// `counts` has an element per block.
#[kernel(max_block = 128, min_blocks = 4)]
pub unsafe fn bounded_block(counts: DeviceSliceMut<u32>) {
    // SAFETY: an element per block.
    unsafe { atomic::add(counts.address(thread::block_idx_x() as usize), 1) };
}

/// Writes `values[i] + 1`, and panics at a value of `forbidden`.
///
/// # Safety
/// The slice is valid.
#[kernel(max_block = 128)]
pub unsafe fn panics_at(forbidden: u32, values: DeviceSliceMut<u32>) {
    for i in thread::grid_stride(values.len()) {
        // SAFETY: below the length.
        unsafe {
            let value = values.at(i);
            assert!(value != forbidden, "{value} is forbidden");
            values.set(i, value + 1);
        }
    }
}
