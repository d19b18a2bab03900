//! The subcommand `matmul` as its user meets it: what it prints, writes and refuses.

use std::fs;

use gridstride::Number;
use gridstride::matmul::{MatMul, Precision, Scalar, reference};
use half::{bf16, f16};
use ndarray::{Array1, Array2, ArrayView2, ShapeBuilder, array};
use ndarray_npy::{ReadableElement, WritableElement, read_npy, write_npy};

use crate::common::{Random, devices};
use crate::program::{Folder, Program, gzip, says};

const PROGRAM: Program = Program("matmul");

const TYPES: [&str; 6] = ["f32", "f64", "tf32", "f32-by-bf16x6", "bf16", "f16"];

/// Numbers in [-1, 1).
fn random((rows, columns): (usize, usize), seed: u64) -> Array2<f64> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn((rows, columns), || {
        random.within(-1_000_000, 999_999) as f64 * 1e-6
    })
}

/// Writes a matrix, and returns the path for a command line.
fn npy<T: WritableElement>(folder: &Folder, name: &str, matrix: &Array2<T>) -> String {
    write_npy(folder.path(name), matrix).unwrap();
    folder.argument(name)
}

/// The same matrix, written column by column.
fn fortran(matrix: &Array2<f64>) -> Array2<f64> {
    let mut columns = Array2::zeros(matrix.raw_dim().f());
    columns.assign(matrix);
    columns
}

/// Returns the output of `--out`.
fn product<T: ReadableElement>(folder: &Folder, arguments: &[&str]) -> Array2<T> {
    let out = folder.path("c.npy");
    let said = PROGRAM.succeed(&[arguments, &["--out", out.to_str().unwrap()]].concat());
    says(&said, &["checked: "]);
    read_npy(out).unwrap()
}

/// Whether a product is as near to ndarray's `dot` in f64 as is promised.
///
/// Both are off by their `error_factor` times Σ|a·b| at most, and so are these magnitudes.
#[track_caller]
fn check<T: Scalar>(
    matmul: MatMul,
    a: &Array2<f64>,
    b: &Array2<f64>,
    of: fn(f64) -> T,
    c: ArrayView2<T::Sum>,
) {
    let (a, b) = (a.mapv(of), b.mapv(of));
    let exact = a.mapv(T::to_f64).dot(&b.mapv(T::to_f64));
    let own = MatMul::new().error_factor::<f64>(a.ncols());
    let factor = (matmul.error_factor::<T>(a.ncols()) + own) / (1.0 - own);
    assert_eq!(c.dim(), exact.dim());
    let magnitudes = reference::magnitudes(a.view(), b.view());
    for ((number, exact), most) in c.iter().zip(&exact).zip(&magnitudes) {
        let error = (number.to_f64() - exact).abs();
        assert!(error <= factor * most, "{number:?} must be {exact}");
    }
}

/// Runs the program for a type, and checks what it writes.
#[track_caller]
fn check_type(folder: &Folder, name: &str, files: &[&str], a: &Array2<f64>, b: &Array2<f64>) {
    let arguments = [&["--type", name], files].concat();
    let full = MatMul::new();
    if name == "f64" {
        let c = product(folder, &arguments);
        return check(full, a, b, |x| x, c.view());
    }
    let c = product::<f32>(folder, &arguments);
    let [tf32, emulated] =
        [Precision::Tf32, Precision::F32ByBf16x6].map(|precision| full.precision(precision));
    match name {
        "f32" => check(full, a, b, |x| x as f32, c.view()),
        "tf32" => check(tf32, a, b, |x| x as f32, c.view()),
        "f32-by-bf16x6" => check(emulated, a, b, |x| x as f32, c.view()),
        "bf16" => check(full, a, b, bf16::from_f64, c.view()),
        _ => check(full, a, b, f16::from_f64, c.view()),
    }
}

#[test]
fn random_matrices_on_each_device() {
    let sizes = ["--m", "30", "--k", "20", "--n", "50"];
    for device in devices() {
        let kind = device.kind().to_string();
        for name in TYPES {
            let options = ["--device", &kind, "--type", name, "--trans-b"];
            let said = PROGRAM.succeed(&[&sizes[..], &options].concat());
            let (number, sum) = match name {
                "tf32" => ("f32, products of tf32 where the device has them", "f32"),
                "f32-by-bf16x6" => ("f32, six products of bf16 where the device has them", "f32"),
                "f64" => ("f64", "f64"),
                _ => (name, "f32"),
            };
            says(
                &said,
                &[
                    "A: 30×20, random from seed 42\n".to_owned(),
                    "B: 20×50, random from seed 42, read transposed\n".to_owned(),
                    format!("C = A·B: 30×50, {number}, sums in {sum}, on {kind}: "),
                    "checked: 16 of 30 rows against f64: the largest error is ".to_owned(),
                    ": the product is within the bound\n".to_owned(),
                    "making the matrices ".to_owned(),
                ],
            );
            let is_cpu = kind == "cpu";
            assert_eq!(said.contains("in the host's memory: "), is_cpu, "{said}");
            assert_eq!(said.contains("in the device's memory: "), !is_cpu, "{said}");
            assert_eq!(said.contains("to the host's memory: "), !is_cpu, "{said}");
        }
    }
    let said = PROGRAM.succeed(&["--device", "simulator"]);
    says(
        &said,
        &[
            "A: 64×48, random",
            "B: 48×40, random",
            "C = A·B: 64×40, f32",
        ],
    );
    assert!(!said.contains("calls"), "{said}");
    let said = PROGRAM.succeed(&["--device", "cpu", "--m", "20", "--repeat", "3"]);
    says(&said, &["A: 20×1024, random"]);
    says(&said, &[" in 3 calls), "]);
}

#[test]
fn the_seed_is_the_matrices() {
    let folder = Folder::new();
    let product =
        |seed: &[&str]| product::<f32>(&folder, &[&["--device", "cpu", "--m", "9"], seed].concat());
    let first = product(&[]);
    assert_eq!(first.dim(), (9, 1024));
    assert_eq!(product(&["--seed", "42"]), first);
    assert_ne!(product(&["--seed", "43"]), first);

    // A row of A times a column of B, with k of 1: numbers of the matrices, up to a factor.
    let options = [
        "--device", "cpu", "--type", "f64", "--m", "1000", "--k", "1", "--n", "1",
    ];
    let column = self::product::<f64>(&folder, &options);
    let largest = column.iter().fold(0f64, |largest, x| largest.max(x.abs()));
    let mean = column.sum() / 1000.0 / largest;
    // The mean of a thousand uniform numbers in [-1, 1) has a deviation of 1 / √3000, a fifth of
    // the limit.
    assert!(mean.abs() < 0.1, "{mean}");
}

#[test]
fn files_in_every_layout_and_type() {
    let folder = Folder::new();
    let (a, b) = (random((37, 65), 1), random((65, 21), 2));
    let transposed = |matrix: &Array2<f64>| matrix.t().as_standard_layout().into_owned();
    let files = |name: &str, matrix: &Array2<f64>| {
        let turned = transposed(matrix);
        let file = |kind, matrix| npy(&folder, &format!("{name}{kind}.npy"), matrix);
        [
            (file("", matrix), false),
            (file("_f", &fortran(matrix)), false),
            (file("_t", &turned), true),
            (file("_tf", &fortran(&turned)), true),
        ]
    };
    for device in devices() {
        let device = device.kind().to_string();
        for (a_file, a_is_transposed) in files("a", &a) {
            for (b_file, b_is_transposed) in files("b", &b) {
                let mut arguments = vec!["--device", &device, "--a", &a_file, "--b", &b_file];
                arguments.extend(a_is_transposed.then_some("--trans-a"));
                arguments.extend(b_is_transposed.then_some("--trans-b"));
                check_type(&folder, "f64", &arguments, &a, &b);
            }
        }
        let (a_file, b_file) = (folder.argument("a.npy"), folder.argument("b_f.npy"));
        let files = ["--device", &device, "--a", &a_file, "--b", &b_file];
        for name in TYPES {
            check_type(&folder, name, &files, &a, &b);
        }
    }
}

#[test]
fn what_is_said_of_files() {
    let folder = Folder::new();
    let a = array![[1.0f32, 2.0], [3.0, 4.0], [0.1, 0.3]];
    let b = array![[1.0f64, -1.0, 0.5], [0.0, 7.0, 0.3]];
    let (a, b) = (npy(&folder, "a.npy", &a), npy(&folder, "b.npy", &b));
    let on_cpu = ["--device", "cpu", "--a", &a, "--b", &b];
    let said = |name: &str| {
        let said = PROGRAM.succeed(&[&on_cpu[..], &["--type", name]].concat());
        let lines: Vec<_> = said.lines().map(str::to_owned).collect();
        says(&said, &["checked: 3 of 3 rows"]);
        says(&said, &["\nreading the matrices "]);
        [lines[0].clone(), lines[1].clone()]
    };
    let expected = |a_rounded: &str, b_rounded: &str| {
        [
            format!("A: 3×2, f32 in {a}{a_rounded}"),
            format!("B: 2×3, f64 in {b}{b_rounded}"),
        ]
    };
    assert_eq!(said("f64"), expected("", ""));
    assert_eq!(said("f32"), expected("", ", rounded to f32"));
    assert_eq!(said("tf32"), expected("", ", rounded to f32"));
    for name in ["f16", "bf16"] {
        let rounded = format!(", rounded to {name}");
        assert_eq!(said(name), expected(&rounded, &rounded));
    }
    let options = ["--trans-a", "--trans-b", "--type", "f32"];
    let said = PROGRAM.succeed(&[&on_cpu[..], &options].concat());
    says(&said, &[format!("A: 2×3, f32 in {a}, read transposed\n")]);
    let place = format!("B: 3×2, f64 in {b}, rounded to f32, read transposed\n");
    says(&said, &[place]);
}

/// Products of f64 were once computed in f32 unless a type was given.
#[test]
fn the_type_is_that_of_the_files() {
    let folder = Folder::new();
    let double = npy(&folder, "double.npy", &array![[1e300, 0.1], [2.0, 3.0]]);
    let single = npy(&folder, "single.npy", &array![[1.0f32, 0.5], [0.0, 4.0]]);
    for (a, b, name) in [
        (&double, &double, "f64"),
        (&double, &single, "f64"),
        (&single, &double, "f64"),
        (&single, &single, "f32"),
    ] {
        let files = ["--device", "cpu", "--a", a, "--b", b];
        let found = PROGRAM.json(&files);
        assert_eq!(
            (&found["type"], &found["sum_type"]),
            (&name.into(), &name.into())
        );
        let out = PROGRAM.write(&folder, "c.npy", &files);
        match name {
            "f32" => drop(read_npy::<_, Array2<f32>>(out).unwrap()),
            _ => drop(read_npy::<_, Array2<f64>>(out).unwrap()),
        }
    }
}

#[test]
fn other_files() {
    let folder = Folder::new();
    let (a, b) = (random((5, 3), 3), random((3, 4), 4));
    let plain = npy(&folder, "a.npy", &a);
    let b_file = npy(&folder, "b.npy", &b);
    let of = |a: &str| product::<f64>(&folder, &["--type", "f64", "--a", a, "--b", &b_file]);
    let expected = of(&plain);
    let bytes = fs::read(&plain).unwrap();
    assert_eq!(of(&folder.file("a.npy.gz", gzip(&bytes))), expected);

    let mut swapped = bytes.clone();
    let header = bytes.len() - 8 * a.len();
    let numbers = swapped[header..].chunks_exact_mut(8);
    numbers.for_each(<[u8]>::reverse);
    let place = swapped.windows(3).position(|part| part == b"<f8").unwrap();
    swapped[place] = b'>';
    assert_eq!(of(&folder.file("swapped.npy", swapped)), expected);

    let out = folder.argument("c.npy");
    fs::remove_file(&out).unwrap();
    let files = ["--a", "-", "--b", &b_file, "--out", &out];
    let said = PROGRAM.read(&[&["--type", "f64"], &files[..]].concat(), &bytes);
    says(&said, &["A: 5×3, f64 in -\n"]);
    assert_eq!(read_npy::<_, Array2<f64>>(&out).unwrap(), expected);

    // One file may be both inputs.
    let square = npy(&folder, "square.npy", &array![[1.0f32, 2.0], [3.0, 4.0]]);
    PROGRAM.succeed(&["--a", &square, "--b", &square, "--out", &out]);
    let product: Array2<f32> = read_npy(&out).unwrap();
    assert_eq!(product, array![[7.0, 10.0], [15.0, 22.0]]);
}

/// NaN, infinities and sums that overflow have no bound.
#[test]
fn numbers_without_a_bound() {
    let folder = Folder::new();
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let a = array![[1.0, 2.0], [inf, 1.0], [nan, 1.0], [3e38, 3e38]];
    let a = npy(&folder, "a.npy", &a);
    let b = npy(&folder, "b.npy", &array![[1.0f32, 0.0], [1.0, 1.0]]);
    let out = folder.path("c.npy");
    let options = ["--a", &a, "--b", &b, "--out", out.to_str().unwrap()];
    for device in devices() {
        let device = device.kind().to_string();
        let said = PROGRAM.succeed(&[&options[..], &["--device", &device]].concat());
        let c: Array2<f32> = read_npy(&out).unwrap();
        assert_eq!(c.row(0), array![3.0, 2.0]);
        assert!(c[[1, 0]] == inf && c[[1, 1]].is_nan());
        assert!(c[[2, 0]].is_nan() && c[[2, 1]].is_nan());
        assert!(c[[3, 0]] == inf && c[[3, 1]] == 3e38);
        says(
            &said,
            &["within the bound; 5 of 8 numbers have none (NaN, "],
        );
        let said = PROGRAM.succeed(&["--type", "f64", "--a", &a, "--b", &b, "--device", &device]);
        says(&said, &["within the bound; 4 of 8 numbers"]);
    }
    let nans = npy(&folder, "nans.npy", &Array2::from_elem((2, 2), nan));
    let said = PROGRAM.succeed(&["--a", &nans, "--b", &nans]);
    says(&said, &["no number has a bound (NaN, "]);
}

#[test]
fn sizes_of_zero() {
    let folder = Folder::new();
    for device in devices() {
        let device = device.kind().to_string();
        for [m, k, n] in [[0, 3, 2], [4, 0, 2], [4, 3, 0], [0, 0, 0]] {
            let sizes = [m, k, n].map(|size| size.to_string());
            let [rows, inner, columns] = sizes.each_ref().map(String::as_str);
            let sizes = ["--m", rows, "--k", inner, "--n", columns];
            let options = [&["--device", &device], &sizes[..]].concat();
            let product: Array2<f32> = product(&folder, &options);
            assert_eq!(product, Array2::<f32>::zeros((m, n)));
            let said = PROGRAM.succeed(&options);
            assert!(!said.contains("FLOP/s") && !said.contains("NaN"), "{said}");
            let are_none = said.contains("there are no numbers in C");
            assert_eq!(are_none, m == 0 || n == 0, "{said}");
        }
    }
    let none = npy(&folder, "none.npy", &Array2::<f64>::zeros((0, 3)));
    let some = npy(&folder, "some.npy", &Array2::<f64>::zeros((2, 0)));
    let product = product::<f64>(&folder, &["--a", &some, "--b", &none]);
    assert_eq!(product, Array2::<f64>::zeros((2, 3)));
}

/// A header of numpy's format, and what follows it.
fn with_header(header: &str, content: &[u8]) -> Vec<u8> {
    let header = format!("{header}\n");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    let magic = b"\x93NUMPY\x01\x00";
    [magic, &length[..], header.as_bytes(), content].concat()
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new();
    let good = npy(&folder, "good.npy", &random((3, 4), 5));
    let whole = fs::read(&good).unwrap();
    let of_type = |descr: &str, shape: &str| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        with_header(&header, &[0; 48])
    };
    let of_shape = |shape: &str| of_type("<f4", shape);
    let cut = |bytes: usize| whole[..whole.len() - bytes].to_vec();
    let nested = |levels| {
        of_shape(&format!(
            "{}(3, 4){}",
            "(".repeat(levels),
            ")".repeat(levels)
        ))
    };
    // Version 2 of the format has longer headers.
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(70_000_u32.to_le_bytes());
    let cases = [
        (Vec::new(), "the file ends within its header"),
        (whole[..20].to_vec(), "the file ends within its header"),
        (
            b"1,2,3\n4,5,6\n".to_vec(),
            "it is not an NPY file: it is a text that begins with '1,2,3', such as CSV",
        ),
        (cut(1), "the file ends after 11 of its 3×4 numbers"),
        (cut(96), "the file ends after 0 of its 3×4 numbers"),
        (
            [&whole[..], b"\0"].concat(),
            "the file goes on after its 3×4 numbers",
        ),
        (
            with_header("{'descr': '<f4', ", &[0; 48]),
            "it is not an NPY file: ",
        ),
        (
            of_shape("(12,)"),
            "it holds an array with 1 axes, [12], not a matrix",
        ),
        (
            of_shape("()"),
            "it holds an array with 0 axes, [], not a matrix",
        ),
        (
            of_shape("(1, 3, 4)"),
            "it holds an array with 3 axes, [1, 3, 4], not",
        ),
        (of_shape("(-3, 4)"), "it is not an NPY file: "),
        (
            nested(1),
            "it is not an NPY file: its shape is ((3, 4)), not a tuple of lengths",
        ),
        (nested(10_000), "it is not an NPY file: its shape is (((("),
        (
            [&long[..], &[b' '; 100]].concat(),
            "its header has 70000 bytes, more than 65535: write the matrix with numpy.save",
        ),
        (
            of_shape("(100000, 1000)"),
            "the file ends after 12 of its 100000×1000 numbers",
        ),
        (
            of_type("<i4", "(3, 4)"),
            "it holds numbers of the type '<i4', not f16, bf16, f32 or f64: convert the array by .astype('float64')",
        ),
        (
            of_type("<c8", "(3, 4)"),
            "it holds numbers of the type '<c8', not f16, bf16, f32 or f64",
        ),
    ];
    let kept = folder.file("kept.npy", "as it was");
    for (content, what) in cases {
        let bad = folder.file("bad.npy", &content);
        let said = format!("bad.npy: {what}");
        for (a, b) in [(&bad, &good), (&good, &bad)] {
            let options = ["--a", a, "--b", b, "--out", &kept];
            PROGRAM.refuse(&options, &["cannot read ", &said]);
        }
        let bad = folder.file("bad.npy.gz", gzip(&content));
        let said = format!("bad.npy.gz: {what}");
        PROGRAM.refuse(&["--a", &bad, "--b", &good], &[&said]);
    }
    let long = [of_shape("(3, 4)"), vec![0; 52]].concat();
    for content in [long, whole.repeat(2)] {
        let bad = folder.file("bad.npy", &content);
        let said = ["the file goes on after its 3×4 numbers"];
        PROGRAM.refuse(&["--a", &bad, "--b", &good], &said);
    }
    let packed = gzip(&whole);
    let cut = folder.file("cut.npy.gz", &packed[..packed.len() - 9]);
    let said = ["cannot read ", "cut.npy.gz: "];
    PROGRAM.refuse(&["--a", &cut, "--b", &good], &said);
    assert_eq!(fs::read(&kept).unwrap(), b"as it was");

    write_npy(folder.path("line.npy"), &Array1::<f32>::zeros(4)).unwrap();
    let said = ["line.npy", "1 axes, [4]", "not a matrix"];
    PROGRAM.refuse(&["--a", &good, "--b", &folder.argument("line.npy")], &said);
    let said = ["cannot read missing.npy", "No such file"];
    PROGRAM.refuse(&["--a", "missing.npy", "--b", &good], &said);
    let itself = folder.0.path().to_str().unwrap();
    PROGRAM.refuse(&["--a", itself, "--b", &good], &["cannot read"]);
}

/// Finite numbers of the file must be within the range of the type.
#[test]
fn numbers_that_are_out_of_range() {
    let folder = Folder::new();
    let good = npy(&folder, "good.npy", &Array2::<f64>::eye(3));
    let mut matrix = Array2::<f64>::ones((2, 3));
    for (number, types) in [
        (1e39, &["f32", "tf32", "f32-by-bf16x6", "bf16", "f16"][..]),
        (-65_520.0, &["f16"]),
    ] {
        matrix[[1, 2]] = number;
        for matrix in [matrix.clone(), fortran(&matrix)] {
            let bad = npy(&folder, "bad.npy", &matrix);
            for name in TYPES {
                let arguments = ["--type", name, "--a", &bad, "--b", &good];
                if !types.contains(&name) {
                    PROGRAM.succeed(&arguments);
                    continue;
                }
                let number_type = match name {
                    "tf32" | "f32-by-bf16x6" => "f32",
                    name => name,
                };
                let said =
                    format!("row 1, column 2: {number:e} is out of the range of {number_type}");
                PROGRAM.refuse(&arguments, &["cannot read ", &format!("bad.npy: {said}")]);
            }
        }
    }
}

#[test]
fn arguments_that_do_not_fit() {
    let folder = Folder::new();
    let a = npy(&folder, "a.npy", &random((3, 4), 6));
    let b = npy(&folder, "b.npy", &random((4, 5), 7));
    let both = ["--a", &*a, "--b", &b];
    PROGRAM.succeed(&both);
    for (options, shapes) in [
        (&["--trans-a"][..], "A is 4×3 and B is 4×5"),
        (&["--trans-b"], "A is 3×4 and B is 5×4"),
        (&["--trans-a", "--trans-b"], "A is 4×3 and B is 5×4"),
    ] {
        for device in ["cpu", "simulator"] {
            let options = [&both[..], options, &["--device", device]].concat();
            let out = folder.argument("c.npy");
            let options = [&options[..], &["--out", &out]].concat();
            let said = ["A must have as many columns as B has rows", shapes];
            PROGRAM.refuse(&options, &said);
            assert!(!folder.path("c.npy").exists());
        }
    }
    PROGRAM.refuse_usage(&["--type", "i32"], "i32");
    PROGRAM.refuse_usage(
        &["--device", "gpu"],
        "there is no device \"gpu\": possible are auto, cpu, cuda",
    );
    PROGRAM.refuse_usage(&["--a", &a], "--b");
    PROGRAM.refuse_usage(&["--b", &b], "--a");
    for option in ["--m", "--k", "--n", "--seed"] {
        PROGRAM.refuse_usage(&[&both[..], &[option, "3"]].concat(), "cannot be used with");
    }
    PROGRAM.refuse_usage(&["--m", "-1"], "-1");
    PROGRAM.refuse_usage(&["--repeat", "0"], "--repeat");
    PROGRAM.refuse_usage(&["--repeat", "18446744073709551615"], "--repeat");
    PROGRAM.refuse_usage(&["c.npy"], "c.npy");

    let large = ["--m", "1000000000", "--k", "1000000000", "--n", "1"];
    let said = [
        "A (1000000000×1000000000), B (1000000000×1) and C (1000000000×1) need 3725290305.9 GiB",
        " GiB are free: multiply smaller matrices",
    ];
    PROGRAM.refuse(&large, &said);
    let (ten, two) = ("10000000000", "2000000000");
    let huge = ["--m", "1", "--k", ten, "--n", ten, "--type", "f64"];
    PROGRAM.refuse(&huge, &["B (10000000000×10000000000) ", said[1]]);
    let of_c = ["--device", "cpu", "--m", two, "--k", "0", "--n", two];
    PROGRAM.refuse(&of_c, &["and C (2000000000×2000000000) need ", said[1]]);
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    let small = [
        "--device", "cpu", "--m", "2", "--k", "2", "--n", "2", "--out",
    ];
    let refuse = |path: &str, what: &str| {
        PROGRAM.refuse(&[&small[..], &[path]].concat(), &["cannot write", what]);
    };
    refuse(&folder.argument("nowhere/c.npy"), "c.npy");
    refuse(folder.0.path().to_str().unwrap(), "it is not a file");
    assert!(folder.names().is_empty());
}

/// The headers tell how large matrices are, before any number is read.
#[test]
fn files_larger_than_the_memory_are_not_read() {
    let folder = Folder::new();
    let header = |rows: u64, columns: u64| {
        let text =
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{text:<117}\n").bytes());
        file
    };
    let tall = folder.file("tall.npy", header(3_000_000, 1));
    let wide = folder.file("wide.npy", header(1, 3_000_000));
    let said = ["A (3000000×1), B (1×3000000) and C (3000000×3000000) need 33527.6 GiB"];
    PROGRAM.refuse(&["--a", &tall, "--b", &wide], &said);
    PROGRAM.refuse(
        &["--a", &wide, "--b", &tall, "--trans-a", "--trans-b"],
        &said,
    );
}
