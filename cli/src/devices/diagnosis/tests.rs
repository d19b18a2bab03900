//! Diagnoses of machines that are made up.

use super::*;

const LOADER: &str = "the NVIDIA driver's library could not be loaded: libcuda.so.1: cannot open shared object file; libcuda.so: cannot";

/// A machine with a GPU whose driver works.
fn healthy() -> Facts {
    Facts {
        state: DriverState::Ready { gpus: 1 },
        cuda_version: Some((12, 4)),
        module_version: Some("550.54.14".into()),
        gpus_on_bus: Some(1),
        has_device_files: true,
        forbidden_files: Vec::new(),
        visible: None,
        place: Place::Linux,
        gpus: vec![(0, (9, 0))],
    }
}

/// The same without a driver.
fn bare() -> Facts {
    Facts {
        state: DriverState::Missing {
            reason: LOADER.into(),
        },
        cuda_version: None,
        module_version: None,
        has_device_files: false,
        gpus: Vec::new(),
        ..healthy()
    }
}

/// The same with a driver that does not start.
fn failing(code: u32) -> Facts {
    Facts {
        state: DriverState::Failed {
            code,
            reason: format!("CUDA_ERROR_X ({code}): it is so"),
        },
        gpus: Vec::new(),
        ..healthy()
    }
}

/// Expects one problem, of `device`, with these words in its reason and remedy.
#[track_caller]
fn expect(facts: Facts, device: &str, reason: &str, remedy: &str) {
    let problems = diagnose(&facts);
    let [problem] = &problems[..] else {
        panic!("{problems:?}");
    };
    assert_eq!(problem.device, device);
    assert!(problem.reason.contains(reason), "{problem:?}");
    assert!(problem.remedy.contains(remedy), "{problem:?}");
    for text in [&problem.reason, &problem.remedy] {
        let first = text.chars().next().unwrap();
        assert!(!first.is_lowercase() && text.ends_with('.'), "{text}");
        assert!(!text.contains("..") && !text.contains("  "), "{text}");
    }
}

#[test]
fn a_healthy_machine_has_no_problems() {
    assert_eq!(diagnose(&healthy()), []);
}

#[test]
fn builds_without_the_feature_say_so() {
    let facts = Facts {
        state: DriverState::NotBuilt,
        ..bare()
    };
    expect(facts, "cuda", "feature cuda", "cargo install");
}

#[test]
fn a_missing_library_has_a_remedy_by_place() {
    expect(
        bare(),
        "cuda",
        "There is 1 NVIDIA GPU on the PCI bus, but no driver: the NVIDIA",
        "apt install",
    );
    let no_gpu = Facts {
        gpus_on_bus: Some(0),
        ..bare()
    };
    expect(
        no_gpu,
        "cuda",
        "no NVIDIA GPU on the PCI bus",
        "The CPU works without further steps.",
    );
    let no_library = Facts {
        module_version: Some("550.54.14".into()),
        ..bare()
    };
    expect(
        no_library,
        "cuda",
        "module 550.54.14 is loaded, but not its library: the",
        "libcuda1",
    );
    for problem in diagnose(&bare()) {
        assert!(
            problem.reason.ends_with("cannot open shared object file."),
            "{problem:?}"
        );
    }
    let at = |place| Facts { place, ..bare() };
    expect(
        at(Place::Container),
        "cuda",
        "The container has no access to GPUs",
        "--gpus all",
    );
    expect(
        at(Place::Pod),
        "cuda",
        "The container has no access to GPUs",
        "nvidia.com/gpu: 1",
    );
    expect(
        at(Place::Wsl),
        "cuda",
        "The NVIDIA driver's library",
        "in Windows",
    );
    expect(
        at(Place::Other),
        "cuda",
        "The NVIDIA driver's library",
        "www.nvidia.com",
    );
    let of_host = Facts {
        module_version: Some("550.54.14".into()),
        ..at(Place::Container)
    };
    expect(
        of_host,
        "cuda",
        "no access to the driver of its host",
        "Container Toolkit",
    );
}

#[test]
fn hidden_gpus_are_named_before_all_else() {
    for value in ["", "-1", " -1,0", "NoDevFiles"] {
        let facts = Facts {
            visible: Some(value.into()),
            forbidden_files: vec!["/dev/nvidia0".into()],
            ..failing(NO_DEVICE)
        };
        let reason = format!("CUDA_VISIBLE_DEVICES={value:?} hides all");
        expect(facts, "cuda", &reason, "Unset the variable");
    }
    let wrong = Facts {
        visible: Some("8".into()),
        ..failing(NO_DEVICE)
    };
    expect(wrong, "cuda", "CUDA_VISIBLE_DEVICES is \"8\"", "Unset");
    let some = Facts {
        visible: Some("0".into()),
        gpus_on_bus: Some(8),
        ..healthy()
    };
    expect(
        some,
        "cuda",
        "CUDA_VISIBLE_DEVICES=\"0\" shows 1 of the 8 GPUs",
        "Unset",
    );
    let all = Facts {
        visible: Some("0".into()),
        ..healthy()
    };
    assert_eq!(diagnose(&all), []);
}

#[test]
fn files_that_may_not_be_opened_are_named() {
    for code in [NO_DEVICE, 999] {
        let facts = Facts {
            forbidden_files: vec!["/dev/nvidia0".into(), "/dev/nvidiactl".into()],
            ..failing(code)
        };
        expect(
            facts,
            "cuda",
            "may not open /dev/nvidia0, /dev/nvidiactl.",
            "`ls -l /dev/nvidia0 /dev/nvidiactl` shows the group that may; join it: sudo usermod",
        );
    }
}

#[test]
fn drivers_without_gpus_say_where_they_are_missing() {
    let no_files = || Facts {
        has_device_files: false,
        ..failing(NO_DEVICE)
    };
    expect(
        no_files(),
        "cuda",
        "no device file such as /dev/nvidia0",
        "modprobe nvidia",
    );
    let in_container = Facts {
        place: Place::Container,
        ..no_files()
    };
    expect(in_container, "cuda", "started without GPUs", "--gpus all");
    let no_gpu = Facts {
        gpus_on_bus: Some(0),
        ..failing(NO_DEVICE)
    };
    expect(
        no_gpu,
        "cuda",
        "installed, but there is no NVIDIA GPU",
        "firmware",
    );
    expect(failing(NO_DEVICE), "cuda", "finds no GPU", "dmesg");
    let none = Facts {
        state: DriverState::Ready { gpus: 0 },
        gpus: Vec::new(),
        ..healthy()
    };
    expect(none, "cuda", "finds no GPU", "dmesg");
}

#[test]
fn failures_of_the_driver_have_their_own_remedies() {
    let expect = |code, remedy: &str| {
        expect(
            failing(code),
            "cuda",
            &format!("({code}): it is so."),
            remedy,
        )
    };
    expect(STUB_LIBRARY, "/stubs");
    expect(SYSTEM_NOT_READY, "nvidia-fabricmanager");
    expect(SYSTEM_DRIVER_MISMATCH, "restart the machine");
    expect(COMPAT_NOT_SUPPORTED, "/usr/local/cuda/compat");
    expect(999, "nvidia-smi");
    let in_container = Facts {
        place: Place::Container,
        ..failing(SYSTEM_DRIVER_MISMATCH)
    };
    super::tests::expect(in_container, "cuda", "(803)", "from the image");
}

#[test]
fn old_drivers_and_old_gpus_are_told_what_they_lack() {
    let with = |cuda_version, capability| Facts {
        cuda_version: Some(cuda_version),
        gpus: vec![(3, capability)],
        ..healthy()
    };
    expect(
        with((10, 2), (7, 5)),
        "cuda",
        "CUDA 10.2 at most, and the kernels need 11.0",
        "450",
    );
    expect(
        with((11, 8), (9, 0)),
        "cuda:3",
        "on this GPU need 12.0",
        "525",
    );
    assert_eq!(diagnose(&with((11, 8), (8, 0))), []);
    expect(
        with((12, 4), (6, 1)),
        "cuda:3",
        "compute capability 6.1, and the kernels need 7.0",
        "Volta",
    );
}

#[test]
fn gpus_that_do_not_open_have_the_errors_reason() {
    let error = Error::Unavailable {
        device: "cuda:1".into(),
        reason: "the GPU is lost".into(),
    };
    let problem = unusable("cuda:1", &error);
    assert_eq!(
        (&*problem.device, &*problem.reason),
        ("cuda:1", "The GPU is lost.")
    );
    assert!(problem.remedy.contains("nvidia-smi"), "{problem:?}");
}
