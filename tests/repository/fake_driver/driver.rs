//! A library that plays the driver of a GPU whose memory is the host's. Kernels do nothing; copies
//! and fills are real, also those of graphs. Each call is a line of the file that `FAKE_DRIVER_LOG`
//! names, and so is `pageable` for a copy to the GPU from memory that is not page-locked: a driver may
//! read it later.
//!
//! A test can have calls fail, and count what exists: see the functions that begin with
//! `fake_driver`. All calls of the function that `FAKE_DRIVER_FAILS` names fail.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::sync::{LazyLock, Mutex};

type Pointer = *mut c_void;
type Work = Box<dyn Fn() + Send>;

const OUT_OF_MEMORY: c_int = 2;
const OUT_OF_CONTEXT: c_int = 201;
/// What a real driver answers if a call does not fit a stream that is captured.
const CAPTURED: c_int = 900;

/// The sizes of allocations, by address.
static SIZES: Mutex<Option<HashMap<u64, usize>>> = Mutex::new(None);
/// Recorded work by stream, and finished graphs by number.
static RECORDED: Mutex<Option<HashMap<usize, Vec<Work>>>> = Mutex::new(None);
static NEXT: Mutex<usize> = Mutex::new(1000);
thread_local! {
    /// How often the context was made current on this thread.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Which calls fail, and what exists.
struct State {
    calls: u64,
    failing: Range<u64>,
    code: c_int,
    /// The last call that was made to fail.
    failed: &'static CStr,
    /// By function of `MADE`.
    existing: [i64; MADE.len()],
}

static STATE: Mutex<State> =
    Mutex::new(State { calls: 0, failing: 0..0, code: 0, failed: c"", existing: [0; MADE.len()] });

/// Functions that make something, and their counterparts.
const MADE: [&CStr; 12] = [
    c"cuMemAlloc_v2", c"cuMemAllocFromPoolAsync", c"cuMemAllocHost_v2", c"cuStreamCreateWithPriority", c"cuEventCreate",
    c"cuModuleLoadDataEx", c"cuGraphInstantiateWithFlags", c"cuStreamBeginCapture_v2", c"cuStreamEndCapture",
    c"cuCtxPushCurrent_v2", c"cuMemPoolCreate", c"cuDevicePrimaryCtxRetain",
];
const FREED: [&CStr; 12] = [
    c"cuMemFree_v2", c"cuMemFreeAsync", c"cuMemFreeHost", c"cuStreamDestroy_v2", c"cuEventDestroy_v2",
    c"cuModuleUnload", c"cuGraphExecDestroy", c"cuStreamEndCapture", c"cuGraphDestroy",
    c"cuCtxPopCurrent_v2", c"cuMemPoolDestroy", c"cuDevicePrimaryCtxRelease_v2",
];

/// Has the calls with these numbers fail with `code`, counted from 0 from now on. If it is only one, and
/// one that makes the context current, the next fails instead: a context that cannot be made current
/// is lost.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_fail(start: u64, end: u64, code: c_int) {
    let mut state = STATE.lock().unwrap();
    *state = State { calls: 0, failing: start..end, code, failed: c"", existing: state.existing };
}

/// Sets all memory to zero. Freed memory that the library keeps has what was last copied to it, since
/// kernels write nothing.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_clear() {
    for (address, bytes) in SIZES.lock().unwrap().iter().flatten() {
        unsafe { (*address as *mut u8).write_bytes(0, *bytes) };
    }
}

/// Forgets what exists, as a process does that ends.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_forget() {
    // A capture whose end failed would go on.
    with_recorded(|recorded| recorded.clear());
    for (address, bytes) in SIZES.lock().unwrap().take().into_iter().flatten() {
        unsafe { dealloc(address as *mut u8, layout(bytes)) };
    }
    STATE.lock().unwrap().existing = [0; MADE.len()];
}

/// Returns the name of the last call that was made to fail, empty if none was.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_failed() -> *const c_char {
    STATE.lock().unwrap().failed.as_ptr()
}

/// Returns the name of a function that has made something that was not freed, or of which too much was
/// freed; empty if there is none. What a call was asked to free counts as freed, even if the call was
/// made to fail.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_left() -> *const c_char {
    let existing = STATE.lock().unwrap().existing;
    existing.iter().position(|&count| count != 0).map_or(c"", |place| MADE[place]).as_ptr()
}

/// A function that always fails, and its code: `FAKE_DRIVER_FAILS=cuInit:100`.
static FAILS: LazyLock<Option<(String, c_int)>> = LazyLock::new(|| {
    let text = std::env::var("FAKE_DRIVER_FAILS").ok()?;
    let (name, code) = text.split_once(':').unwrap();
    Some((name.to_owned(), code.parse().unwrap()))
});

/// Counts a call, and returns the code of a call that is to fail.
fn begin(name: &'static CStr) -> Option<c_int> {
    log(name.to_str().unwrap());
    if let Some((fails, code)) = &*FAILS && name.to_str() == Ok(fails) {
        return Some(*code);
    }
    let mut state = STATE.lock().unwrap();
    let number = state.calls;
    state.calls += 1;
    if let Some(place) = FREED.iter().position(|freed| *freed == name) {
        state.existing[place] -= 1;
    }
    if state.failing == (number..number + 1) && name == c"cuCtxPushCurrent_v2" {
        state.failing = number + 1..number + 2;
    }
    state.failing.contains(&number).then(|| {
        state.failed = name;
        state.code
    })
}

fn end(name: &'static CStr, result: c_int) -> c_int {
    let made = MADE.iter().position(|made| *made == name);
    if let Some(place) = made.filter(|_| result == 0) {
        STATE.lock().unwrap().existing[place] += 1;
    }
    result
}

fn log(name: &str) {
    let Some(path) = std::env::var_os("FAKE_DRIVER_LOG") else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{name}\n").as_bytes()).unwrap();
}

fn handle() -> usize {
    let mut next = NEXT.lock().unwrap();
    *next += 1;
    *next
}

fn with_recorded<R>(f: impl FnOnce(&mut HashMap<usize, Vec<Work>>) -> R) -> R {
    f(RECORDED.lock().unwrap().get_or_insert_default())
}

fn is_captured(stream: usize) -> bool {
    with_recorded(|recorded| recorded.contains_key(&stream))
}

/// Does work now, or records it if the stream is captured.
fn work(stream: usize, work: impl Fn() + Send + 'static) -> c_int {
    let work: Work = Box::new(work);
    let work = with_recorded(|recorded| match recorded.get_mut(&stream) {
        Some(works) => {
            works.push(work);
            None
        }
        None => Some(work),
    });
    if let Some(work) = work {
        work();
    }
    0
}

/// Defines functions that return 0 behind their statements, and need the context if they say so.
macro_rules! functions {
    ($($kind:ident $name:ident($($parameter:ident: $type:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($parameter: $type),*) -> c_int {
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!(),
            };
            if let Some(code) = begin(NAME) {
                return code;
            }
            if stringify!($kind) == "inside" && CURRENT.get() == 0 {
                return end(NAME, OUT_OF_CONTEXT);
            }
            #[allow(unused_unsafe)]
            end(NAME, (move || unsafe { $body })())
        }
    )*};
}

functions! {
    anywhere cuInit(_flags: c_uint) { 0 }
    anywhere cuDriverGetVersion(version: *mut c_int) { *version = 13000; 0 }
    anywhere cuDeviceGet(device: *mut c_int, ordinal: c_int) { *device = ordinal; 0 }
    anywhere cuDeviceGetCount(count: *mut c_int) { *count = 1; 0 }
    anywhere cuDeviceGetName(name: *mut c_char, _length: c_int, _device: c_int) { *name = 0; 0 }
    anywhere cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) { *bytes = 1 << 36; 0 }
    anywhere cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) {
        *value = match attribute {
            16 => 132,
            39 => 2048,
            75 => 9,
            76 => 0,
            97 => 227 << 10,
            _ => 1,
        };
        0
    }
    anywhere cuDevicePrimaryCtxRetain(context: *mut usize, _device: c_int) { *context = 41; 0 }
    anywhere cuDevicePrimaryCtxRelease_v2(_device: c_int) { 0 }
    anywhere cuCtxPushCurrent_v2(_context: usize) { CURRENT.set(CURRENT.get() + 1); 0 }
    anywhere cuCtxPopCurrent_v2(context: *mut usize) {
        CURRENT.set(CURRENT.get().checked_sub(1).expect("a context is current"));
        *context = 41;
        0
    }
    inside cuCtxSynchronize() {
        match with_recorded(|recorded| recorded.keys().any(|stream| *stream < GRAPHS)) {
            true => CAPTURED,
            false => 0,
        }
    }
    inside cuModuleLoadDataEx(module: *mut usize, _image: Pointer, _options: c_uint, _names: Pointer, _values: Pointer) {
        *module = handle();
        0
    }
    inside cuModuleUnload(_module: usize) { 0 }
    inside cuModuleGetFunction(function: *mut usize, _module: usize, _name: *const c_char) {
        *function = handle();
        0
    }
    inside cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, _module: usize, _name: *const c_char) {
        // Each variable has 16 bytes.
        static VARIABLE: Mutex<[u8; 16]> = Mutex::new([0; 16]);
        *address = VARIABLE.lock().unwrap().as_mut_ptr() as u64;
        *bytes = 16;
        0
    }
    anywhere cuFuncGetAttribute(value: *mut c_int, _attribute: c_int, _function: usize) { *value = 0; 0 }
    inside cuFuncSetAttribute(_function: usize, _attribute: c_int, _value: c_int) { 0 }
    inside cuLaunchKernel(
        _function: usize, _gx: c_uint, _gy: c_uint, _gz: c_uint, _bx: c_uint, _by: c_uint, _bz: c_uint,
        _shared: c_uint, stream: usize, _parameters: Pointer, _extra: Pointer
    ) {
        work(stream, || {})
    }
    anywhere cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { *free = 1 << 36; *total = 1 << 36; 0 }
    inside cuMemPoolCreate(pool: *mut usize, _properties: Pointer) { *pool = handle(); 0 }
    inside cuMemPoolDestroy(_pool: usize) { 0 }
    inside cuMemPoolTrimTo(_pool: usize, _bytes: usize) { 0 }
    inside cuMemPoolSetAttribute(_pool: usize, _attribute: c_int, _value: Pointer) { 0 }
    inside cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, _pool: usize, stream: usize) {
        if is_captured(stream) {
            return CAPTURED;
        }
        if let Ok(most) = std::env::var("FAKE_DRIVER_MEMORY") {
            let used: usize = SIZES.lock().unwrap().iter().flat_map(HashMap::values).sum();
            if used + bytes > most.parse().unwrap() {
                log("failed cuMemAllocFromPoolAsync");
                return OUT_OF_MEMORY;
            }
        }
        allocate(address, bytes)
    }
    // Without pools.
    inside cuMemAlloc_v2(address: *mut u64, bytes: usize) { allocate(address, bytes) }
    inside cuMemFree_v2(address: u64) { free(address) }
    inside cuMemFreeAsync(address: u64, stream: usize) {
        if is_captured(stream) {
            return CAPTURED;
        }
        free(address)
    }
    inside cuMemAllocHost_v2(address: *mut *mut u8, bytes: usize) {
        if std::env::var_os("FAKE_DRIVER_LOCKS_NOTHING").is_some() {
            log("failed cuMemAllocHost_v2");
            return OUT_OF_MEMORY;
        }
        *address = alloc(layout(bytes));
        SIZES.lock().unwrap().get_or_insert_default().insert(*address as u64, bytes);
        0
    }
    inside cuMemFreeHost(address: *mut u8) {
        let bytes = SIZES.lock().unwrap().as_mut().unwrap().remove(&(address as u64)).unwrap();
        dealloc(address, layout(bytes));
        0
    }
    inside cuPointerGetAttribute(_value: Pointer, _attribute: c_int, address: u64) {
        match is_known(address) {
            true => 0,
            false => 1,
        }
    }
    inside cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) {
        if !is_known(from) {
            log("pageable");
        }
        copy(from, to, bytes, stream)
    }
    inside cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) { copy(from, to, bytes, stream) }
    inside cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) { copy(from, to, bytes, stream) }
    inside cuMemsetD8Async(address: u64, value: u8, bytes: usize, stream: usize) {
        work(stream, move || unsafe { (address as *mut u8).write_bytes(value, bytes) })
    }
    inside cuStreamCreateWithPriority(stream: *mut usize, _flags: c_uint, _priority: c_int) {
        *stream = handle();
        0
    }
    inside cuStreamDestroy_v2(stream: usize) {
        match is_captured(stream) {
            true => CAPTURED,
            false => 0,
        }
    }
    inside cuStreamSynchronize(stream: usize) {
        match is_captured(stream) {
            true => CAPTURED,
            false => 0,
        }
    }
    inside cuStreamWaitEvent(stream: usize, _event: usize, _flags: c_uint) {
        match is_captured(stream) {
            true => CAPTURED,
            false => 0,
        }
    }
    inside cuEventCreate(event: *mut usize, _flags: c_uint) { *event = handle(); 0 }
    inside cuEventRecord(_event: usize, stream: usize) {
        match is_captured(stream) {
            true => CAPTURED,
            false => 0,
        }
    }
    inside cuEventSynchronize(_event: usize) { 0 }
    inside cuEventDestroy_v2(_event: usize) { 0 }
    inside cuStreamBeginCapture_v2(stream: usize, _mode: c_int) {
        with_recorded(|recorded| recorded.insert(stream, vec![]));
        0
    }
    inside cuStreamIsCapturing(stream: usize, status: *mut c_int) {
        *status = is_captured(stream).into();
        0
    }
    inside cuStreamEndCapture(stream: usize, graph: *mut usize) {
        let Some(works) = with_recorded(|recorded| recorded.remove(&stream)) else {
            return 1;
        };
        *graph = GRAPHS + handle();
        with_recorded(|recorded| recorded.insert(*graph, works));
        0
    }
    inside cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, _flags: u64) {
        *executable = GRAPHS + handle();
        with_recorded(|recorded| {
            let works = recorded.remove(&graph).unwrap();
            recorded.insert(*executable, works);
        });
        0
    }
    inside cuGraphLaunch(executable: usize, stream: usize) {
        if is_captured(stream) {
            return CAPTURED;
        }
        with_recorded(|recorded| recorded[&executable].iter().for_each(|work| work()));
        0
    }
    inside cuGraphExecDestroy(executable: usize) {
        with_recorded(|recorded| recorded.remove(&executable).unwrap());
        0
    }
    inside cuGraphDestroy(_graph: usize) { 0 }
}

/// The alignment of pages, which page-locked memory has.
fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 4096).unwrap()
}

unsafe fn allocate(address: *mut u64, bytes: usize) -> c_int {
    let place = unsafe { alloc(layout(bytes)) };
    // What a GPU's memory has at first is any number.
    let fill = std::env::var("FAKE_DRIVER_FILL").map_or(0xff, |fill| fill.parse().unwrap());
    unsafe { place.write_bytes(fill, bytes) };
    unsafe { *address = place as u64 };
    SIZES.lock().unwrap().get_or_insert_default().insert(place as u64, bytes);
    0
}

unsafe fn free(address: u64) -> c_int {
    let bytes = SIZES.lock().unwrap().as_mut().unwrap().remove(&address).unwrap();
    unsafe { (address as *mut u8).write_bytes(0xee, bytes) };
    unsafe { dealloc(address as *mut u8, layout(bytes)) };
    0
}

/// Numbers of graphs begin here, those of other things lie below.
const GRAPHS: usize = 1 << 40;

/// Whether the address is in memory of the GPU or in page-locked memory.
fn is_known(address: u64) -> bool {
    let sizes = SIZES.lock().unwrap();
    let is_inside = |(start, bytes): (&u64, &usize)| (*start..*start + *bytes as u64).contains(&address);
    sizes.as_ref().is_some_and(|sizes| sizes.iter().any(is_inside))
}

fn copy(from: u64, to: u64, bytes: usize, stream: usize) -> c_int {
    work(stream, move || unsafe { (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes) })
}
