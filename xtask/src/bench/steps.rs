//! What is measured, and the programs and options that measure it.

use std::sync::LazyLock;

use crate::Result;

/// Commands that run one after the other on one machine.
pub struct Step {
    /// The name on the command line.
    pub name: &'static str,
    /// A name for several steps.
    pub group: &'static str,
    /// The kernels that it measures, whose PTX and sources decide whether its rows are of today.
    pub kernels: Vec<&'static str>,
    /// What it measures.
    pub title: &'static str,
    /// Command lines as on a machine with a bundle, without the bundle's folder: `benches/…` and `bin/…` are our programs,
    /// all others are peers' programs. Programs append their rows to a file; where a line ends with `# CASE`, its whole
    /// process is a row, `6 × …` measures six of them. Plots go to `docs/benchmarks` if the rows are recorded, temporary files to `target/bench`.
    pub commands: Vec<&'static str>,
}

/// The group of the steps that need no GPU.
pub const CPU: &str = "cpu";

/// All steps: `# group`, then for each of its steps `## name [kernels]: title` and the commands.
const TEXT: &str = "\
# kernels
## ceilings []: What the GPU can do: copies, multiply-adds and tensor cores
nvcc -O3 -std=c++17 -arch=sm_90a -o target/bench/ceilings benches/peers/ceilings.cu
target/bench/ceilings
## copies []: Copies
benches/copies --device cuda
python3 benches/peers/copies_torch.py
## host_arrays [matmul time_series distances box_overlap primitives tensor_sketch]: Whole calls from and to arrays of the host
benches/host_arrays --device cuda
## small_calls [matmul distances time_series primitives box_overlap tensor_sketch edit_distance]: Calls on little data, and graphs
benches/small_calls --device cuda
python3 benches/peers/small_calls_torch.py
## devices [matmul tensor_sketch box_overlap primitives time_series]: Several GPUs, and little memory
benches/devices --device cuda
## crossover [matmul tensor_sketch edit_distance distances box_overlap primitives time_series]: When a GPU pays
benches/crossover --device cuda
## primitives [primitives]: Radix sort
benches/primitives --device cuda
nvcc -O3 -std=c++17 -arch=native -o target/bench/primitives_cub benches/peers/primitives_cub.cu
target/bench/primitives_cub
## tensor_sketch [tensor_sketch]: Tensor sketch
benches/tensor_sketch --device cuda
benches/tensor_sketch --device cuda --f64
benches/tensor_sketch --device cuda --form direct
benches/tensor_sketch --device cuda --sequences 1
python3 benches/peers/tensor_sketch_numba.py
## tensor_sketch_longest [tensor_sketch]: Tensor sketch: how the longest sequence counts
benches/tensor_sketch --device cuda --runs 3 --sweep
python3 benches/peers/tensor_sketch_numba.py --sweep
## tensor_sketch_shapes [tensor_sketch]: Tensor sketch: other shapes
benches/tensor_sketch --device cuda --runs 5 --tuple 1
benches/tensor_sketch --device cuda --runs 5 --tuple 2
benches/tensor_sketch --device cuda --runs 5 --tuple 3
benches/tensor_sketch --device cuda --runs 5 --tuple 5
benches/tensor_sketch --device cuda --runs 5 --tuple 6
benches/tensor_sketch --device cuda --runs 5 --tuple 7
benches/tensor_sketch --device cuda --runs 5 --tuple 8
benches/tensor_sketch --device cuda --runs 5 --dim 1000
benches/tensor_sketch --device cuda --runs 5 --dim 4096 --letters 10000000
benches/tensor_sketch --device cuda --runs 5 --alphabet 20
benches/tensor_sketch --device cuda --runs 5 --alphabet 256
benches/tensor_sketch --device cuda --runs 5 --sequences 600000
benches/tensor_sketch --device cuda --runs 5 --sizes
## tensor_sketch_windows [tensor_sketch]: Tensor sketch: sliding windows
benches/tensor_sketch --device cuda --runs 5 --windows 1000:1 --letters 1000000
benches/tensor_sketch --device cuda --runs 5 --windows 99000:1 --letters 1000000
benches/tensor_sketch --device cuda --runs 5 --windows 1000:100 --letters 10000000
benches/tensor_sketch --device cuda --runs 5 --windows 10000:1000 --letters 100000000
## tensor_sketch_estimates [tensor_sketch]: Tensor sketch: what distances of sketches say of edit distances
bin/gridstride edit-distance --generate 2000 --force target/bench/pairs_a.fa target/bench/pairs_b.fa
bin/gridstride edit-distance --device cuda --windows 1000:100 --plot docs/benchmarks/edit_distance_estimates.svg target/bench/pairs_a.fa target/bench/pairs_b.fa
bin/gridstride edit-distance --device cuda --grid --tuple 2,3,4,5 --dim 8,64 --windows 1000:100,500:100 --seeds 3 --plot docs/benchmarks/edit_distance_grid.svg target/bench/pairs_a.fa target/bench/pairs_b.fa
## tensor_sketch_files [tensor_sketch]: Tensor sketch: files of 100 M letters
python3 benches/random_sequences.py target/bench/many.fa 100000000 1410
python3 benches/random_sequences.py target/bench/one.fa 100000000 1
5 × bin/gridstride tensor-sketch --device cuda --normalize --out target/bench/sketches.npy target/bench/many.fa # 1410 records
5 × bin/gridstride tensor-sketch --device cuda --normalize --out target/bench/sketches.npy target/bench/one.fa # one record
5 × bin/gridstride tensor-sketch --device cuda --normalize --windows 10000:1000 --out target/bench/sketches.npy target/bench/many.fa # windows of 10 000, 1410 records
5 × bin/gridstride tensor-sketch --device cuda --normalize --windows 10000:1000 --out target/bench/sketches.npy target/bench/one.fa # windows of 10 000, one record
## distances [distances]: Distances
benches/distances --device cuda
python3 benches/peers/distances_torch.py
## nearest [distances]: Nearest rows
benches/nearest --device cuda --runs 3
benches/nearest --device cuda --rows 1000000
python3 benches/peers/nearest_torch.py 10000 1000000
python3 benches/peers/nearest_faiss.py 10000 1000000
## edit_distance [edit_distance]: Edit distance
benches/edit_distance --device cuda --write target/bench/edit_distance
python3 benches/peers/edit_distance_cpu.py target/bench/edit_distance
python3 benches/peers/edit_distance_stringzilla.py target/bench/edit_distance
## matmul [matmul]: Matrix multiplication
benches/matmul --device cuda
python3 benches/peers/matmul_torch.py
benches/matmul --device cuda --types bf16x6
benches/matmul --device cuda --casts
## time_series [time_series primitives]: Time series
benches/time_series --device cuda
python3 benches/peers/time_series_torch.py
nvcc -O3 -std=c++17 -arch=native -o target/bench/time_series_cub benches/peers/time_series_cub.cu
target/bench/time_series_cub
## time_series_buckets [time_series primitives]: Time series: how the length of buckets counts
benches/time_series --device cuda --sweep
## time_series_files [time_series primitives]: Time series: a file of 100 million lines
bin/gridstride time-series --generate 100000000 --force --out target/bench/points.csv
3 × bin/gridstride time-series --device cuda --every 1h --aggregate mean,max target/bench/points.csv # means and maxima of 10⁸ lines
## box_overlap [box_overlap primitives]: Box overlap
benches/box_overlap --write target/bench/boxes
python3 benches/peers/box_overlap_numba.py target/bench/boxes/set1.npy target/bench/boxes/set2.npy
benches/box_overlap --device cuda
python3 benches/peers/box_overlap_torch.py target/bench/boxes/set1.npy target/bench/boxes/set2.npy
## box_overlap_sizes [box_overlap primitives]: Box overlap: how the number of boxes counts
benches/box_overlap --device cuda --sweep 20000000 --algorithms auto,brute --runs 7
## box_overlap_kinds [box_overlap primitives]: Box overlap: other boxes
benches/box_overlap --device cuda --rows 800000 --kinds equal
benches/box_overlap --device cuda --rows 500000 --kinds dense
benches/box_overlap --device cuda --rows 140000 --kinds equal,long_sticks
benches/box_overlap --device cuda --rows 50000 --kinds dense
benches/box_overlap --device cuda --rows 20000000 --rows2 1000 --kinds uniform
benches/box_overlap --device cuda --rows 20000000 --rows2 2000 --kinds uniform
## box_overlap_files [box_overlap primitives]: Box overlap: two files of 20 million boxes
bin/gridstride box-overlap --generate 20000000 --force target/bench/files
3 × bin/gridstride box-overlap --device cuda target/bench/files/set1.csv target/bench/files/set2.csv # pairs of 20 M and 20 M boxes
## python [matmul tensor_sketch box_overlap primitives time_series]: From Python: the articles' tasks
python3 python/benches/run.py --only articles
## python_calls [matmul distances time_series primitives box_overlap]: From Python: calls on little data
python3 python/benches/run.py --only overhead
# articles
## articles_tensor_sketch [ladder]: The articles: tensor sketch
bin/gridstride_learn tensor-sketch --device cuda --plot docs/benchmarks/ladder_tensor_sketch.svg
python3 benches/peers/ladder_tensor_sketch_numba.py
python3 benches/peers/ladder_tensor_sketch_numba.py --pointers
python3 benches/peers/ladder_tensor_sketch_numba_cpu.py
## articles_tensor_sketch_sweep [ladder]: The articles: tensor sketch, places of a thread and sequences of a launch
bin/gridstride_learn tensor-sketch --device cuda --no-cpu --letters 10000000 --sweep --plot docs/benchmarks/ladder_tensor_sketch_sweep.svg
## articles_box_overlap [ladder]: The articles: box overlap
bin/gridstride_learn box-overlap --device cuda --plot docs/benchmarks/ladder_box_overlap.svg
python3 benches/peers/ladder_box_overlap_numba.py --sweep
python3 benches/peers/ladder_box_overlap_torch.py
python3 benches/peers/ladder_box_overlap_numba_cpu.py
## articles_box_overlap_sweep [ladder]: The articles: box overlap, threads of a block
bin/gridstride_learn box-overlap --device cuda --no-cpu --sweep --plot docs/benchmarks/ladder_box_overlap_sweep.svg
## articles_matmul [ladder]: The articles: matrix products
bin/gridstride_learn matmul --device cuda
python3 benches/peers/ladder_matmul_numba.py matmul
## articles_block_shape [ladder]: The articles: shapes of blocks
bin/gridstride_learn block-shape --device cuda --sweep --plot docs/benchmarks/ladder_block_shape_sweep.svg
python3 benches/peers/ladder_matmul_numba.py block-shape
## articles_vector_add [ladder]: The articles: vector addition
bin/gridstride_learn vector-add --device cuda --sweep --plot docs/benchmarks/ladder_vector_add_sweep.svg
python3 benches/peers/ladder_vector_add_numba.py
## articles_timestamps [ladder]: The articles: timestamps
bin/gridstride_learn timestamps --device cuda
python3 benches/peers/ladder_timestamps_numba.py
# cpu
## tensor_sketch_cpu [tensor_sketch]: Tensor sketch on the CPU
benches/tensor_sketch_cpu
python3 benches/peers/tensor_sketch_numba_cpu.py
## sequence_files [files]: Readers of FASTA and FASTQ
python3 benches/random_sequences.py target/bench/many.fa 100000000 1410
python3 benches/random_sequences.py target/bench/many.fq 50000000 333333
python3 benches/random_sequences.py target/bench/many.fa.gz 100000000 1410
python3 benches/random_sequences.py target/bench/many.fq.gz 50000000 333333
python3 benches/random_sequences.py target/bench/many.fq.bgz 50000000 333333
cargo run --release --manifest-path benches/peers/sequence_files/Cargo.toml -- target/bench/many.fa target/bench/many.fa.gz target/bench/many.fq target/bench/many.fq.gz target/bench/many.fq.bgz
## time_series_labels [time_series]: Time series by labels, in Python
python3 python/benches/labels.py
## edit_distance_cpu [edit_distance]: Edit distance on the CPU
benches/edit_distance --write target/bench/edit_distance
python3 benches/peers/edit_distance_cpu.py target/bench/edit_distance
python3 benches/peers/edit_distance_stringzilla.py target/bench/edit_distance
## nearest_cpu [distances]: Nearest rows on the CPU
benches/nearest --device cpu --queries 2000 --k 10 --types f32
python3 benches/peers/nearest_sklearn.py
## matmul_cpu [matmul]: Matrix multiplication on the CPU, beside ndarray's dot
benches/matmul_cpu
## time_series_cpu [time_series primitives]: Time series on the CPU
benches/time_series_cpu
python3 benches/peers/time_series_duckdb.py
## box_overlap_cpu [box_overlap primitives]: Box overlap on the CPU
benches/box_overlap_cpu --rows 200000
benches/box_overlap --write target/bench/boxes
python3 benches/peers/box_overlap_strtree.py target/bench/boxes
## box_overlap_cpu_sizes [box_overlap primitives]: Box overlap on the CPU: how the number of boxes counts
benches/box_overlap --sweep 2000000 --algorithms auto,brute --runs 7
benches/box_overlap --sweep 2000000 --write target/bench/sizes
python3 benches/peers/box_overlap_strtree.py target/bench/sizes
";

/// The parsed [`TEXT`].
pub static STEPS: LazyLock<Vec<Step>> = LazyLock::new(|| {
    let (mut group, mut steps) = ("", Vec::<Step>::new());
    for line in TEXT.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            group = name;
        } else if let Some((name, heading)) = line
            .strip_prefix("## ")
            .and_then(|heading| heading.split_once(" ["))
        {
            let (kernels, title) = heading.split_once("]: ").unwrap_or(("", heading));
            steps.push(Step {
                name,
                group,
                kernels: kernels.split_whitespace().collect(),
                title,
                commands: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            step.commands.push(line);
        }
    }
    steps
});

/// Returns the steps with these names or groups; all if there are no names.
///
/// # Errors
/// Unknown names.
pub fn select(names: &[String]) -> Result<Vec<&'static Step>> {
    let is_known = |name: &&String| {
        let mut steps = STEPS.iter();
        steps.any(|step| step.name == name.as_str() || step.group == name.as_str())
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let all: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!(
            "`{unknown}` is neither one of the groups kernels, articles and {CPU}, nor of the steps {}",
            all.join(", ")
        )
        .into());
    }
    let is_wanted = |step: &&Step| {
        let mut names = names.iter();
        names.len() == 0 || names.any(|name| name == step.name || name == step.group)
    };
    Ok(STEPS.iter().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace;

    fn names(wanted: &[&str]) -> Vec<&'static str> {
        let wanted: Vec<_> = wanted.iter().map(ToString::to_string).collect();
        let steps = select(&wanted).unwrap();
        steps.into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn steps_go_by_their_name_or_that_of_their_group() {
        assert_eq!(names(&[]).len(), STEPS.len());
        assert_eq!(names(&["matmul", "copies"]), ["copies", "matmul"]);
        assert!(names(&["cpu"]).contains(&"matmul_cpu"));
        let error = select(&["matmull".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("`matmull`") && error.contains("time_series_buckets"));
    }

    #[test]
    fn names_differ() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        names.extend(["kernels", "articles", CPU]);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// The names of the files with this extension in a folder of the workspace.
    fn files(folder: &str, extension: &str) -> Vec<String> {
        let entries = fs::read_dir(workspace().join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    fn is_run(what: &str) -> bool {
        let mut words = STEPS
            .iter()
            .flat_map(|step| &step.commands)
            .flat_map(|command| command.split_whitespace());
        words.any(|word| word == what)
    }

    #[test]
    fn every_benchmark_is_run() {
        for name in files("benches", "rs") {
            assert!(is_run(&format!("benches/{name}")), "{name} is in no step");
        }
    }

    /// Modules that the programs of the peers share.
    const MODULES: [&str; 7] = [
        "box_overlap_kernels",
        "boxes",
        "numba_gpu",
        "tensor_sketch_exact",
        "tensor_sketch_kernels",
        "tensor_sketch_pointers",
        "timing",
    ];

    #[test]
    fn every_peer_is_run() {
        for name in files("benches/peers", "py") {
            let is_module = MODULES.contains(&name.as_str());
            assert!(
                is_module || is_run(&format!("benches/peers/{name}.py")),
                "{name} is in no step"
            );
        }
        for name in files("benches/peers", "cu") {
            assert!(is_run(&format!("benches/peers/{name}.cu")));
        }
    }

    #[test]
    fn every_ladder_is_climbed() {
        let main = fs::read_to_string(workspace().join("learn/src/main.rs")).unwrap();
        let names = main.lines().filter_map(|line| {
            let (name, _) = line
                .trim()
                .strip_prefix("Name::")?
                .split_once("(options) => ")?;
            let (module, _) = line.split_once("=> ")?.1.split_once("::climb")?;
            assert!(!name.is_empty());
            Some(module.to_owned())
        });
        let names: Vec<_> = names.collect();
        assert!(names.len() >= 6, "{names:?}");
        for name in names {
            let command = format!("bin/gridstride_learn {} ", name.replace('_', "-"));
            let mut commands = STEPS.iter().flat_map(|step| &step.commands);
            assert!(commands.any(|c| c.starts_with(&command)), "{name}");
        }
    }
}
