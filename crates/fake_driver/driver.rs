//! A library that plays the driver of a GPU whose memory is the host's. Copies and fills are real, also
//! those of graphs. Kernels do nothing, but for `scaled_sums`: see `cuLaunchKernel`. Variables of modules
//! are those of their PTX.
//!
//! Each call is a line of the file that `FAKE_DRIVER_LOG` names, and so is `pageable` for a copy to the GPU
//! from memory that is not page-locked: a driver may read it later.
//!
//! A test can have calls fail, and count what exists: see the functions that begin with
//! `fake_driver`. All calls of the functions that `FAKE_DRIVER_FAILS` names fail.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{LazyLock, Mutex};

type Pointer = *mut c_void;
type Work = Box<dyn Fn() + Send>;
/// An error is a code of the driver.
type Answer<T = ()> = Result<T, c_int>;

const INVALID_VALUE: c_int = 1;
const OUT_OF_MEMORY: c_int = 2;
const OUT_OF_CONTEXT: c_int = 201;
const INVALID_PTX: c_int = 218;
const FILE_NOT_FOUND: c_int = 301;
const INVALID_HANDLE: c_int = 400;
const NOT_FOUND: c_int = 500;
/// The answer of a real driver to a call that does not fit a stream that is captured.
const CAPTURED: c_int = 900;

const DEVICE: c_int = 40;
const CONTEXT: usize = 41;

/// The objects that handles stand for.
enum Object {
    /// With the work that is recorded while the stream is captured.
    Stream { flags: c_uint, priority: c_int, recorded: Option<Vec<Work>> },
    /// With the number of the last record.
    Event { flags: c_uint, recorded: Option<usize> },
    /// With the addresses of variables.
    Module { text: String, variables: BTreeMap<String, u64> },
    Function { module: usize, name: String },
    Pool,
    Graph(Vec<Work>),
    Executable(Vec<Work>),
}
use Object::*;

static OBJECTS: Mutex<BTreeMap<usize, Object>> = Mutex::new(BTreeMap::new());
/// The sizes of allocations, by address.
static SIZES: Mutex<BTreeMap<u64, usize>> = Mutex::new(BTreeMap::new());
/// Numbers handles and records.
static NEXT: AtomicUsize = AtomicUsize::new(1000);
/// Whether a copy or a fill in the default stream may not have ended.
static IS_COPYING: AtomicBool = AtomicBool::new(false);
thread_local! {
    /// The contexts that were made current on this thread.
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The calls that fail, and the objects that exist.
struct State {
    calls: u64,
    failing: Range<u64>,
    code: c_int,
    /// The last call that was made to fail.
    failed: &'static CStr,
    /// By kind of `MADE`.
    existing: [i64; MADE.len()],
    seen: String,
}

static STATE: Mutex<State> = Mutex::new(State {
    calls: 0,
    failing: 0..0,
    code: 0,
    failed: c"",
    existing: [0; MADE.len()],
    seen: String::new(),
});

/// Functions that make something, and their counterparts.
const MADE: [(&CStr, &CStr); 12] = [
    (c"cuDevicePrimaryCtxRetain", c"cuDevicePrimaryCtxRelease_v2"),
    (c"cuMemAlloc_v2", c"cuMemFree_v2"),
    (c"cuMemAllocFromPoolAsync", c"cuMemFreeAsync"),
    (c"cuMemAllocHost_v2", c"cuMemFreeHost"),
    (c"cuStreamCreateWithPriority", c"cuStreamDestroy_v2"),
    (c"cuEventCreate", c"cuEventDestroy_v2"),
    (c"cuModuleLoadDataEx", c"cuModuleUnload"),
    (c"cuGraphInstantiateWithFlags", c"cuGraphExecDestroy"),
    (c"cuStreamBeginCapture_v2", c"cuStreamEndCapture"),
    (c"cuStreamEndCapture", c"cuGraphDestroy"),
    (c"cuCtxPushCurrent_v2", c"cuCtxPopCurrent_v2"),
    (c"cuMemPoolCreate", c"cuMemPoolDestroy"),
];
const RETAINED: usize = 0;

impl State {
    fn make(&mut self, name: &CStr) {
        let name = if name == c"cuModuleLoad" { c"cuModuleLoadDataEx" } else { name };
        if let Some(kind) = MADE.iter().position(|(made, _)| *made == name) {
            self.existing[kind] += 1;
        }
    }

    fn free(&mut self, name: &CStr) {
        if let Some(kind) = MADE.iter().position(|(_, freed)| *freed == name) {
            self.existing[kind] -= 1;
        }
    }
}

/// Has the calls with these numbers fail with `code`, counted from 0 from now on. If it is only one, and
/// one that makes the context current, the next fails instead: a context that cannot be made current
/// is lost.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_fail(start: u64, end: u64, code: c_int) {
    let mut state = STATE.lock().unwrap();
    (state.calls, state.failing, state.code, state.failed) = (0, start..end, code, c"");
}

/// Sets all memory to zero. Freed memory that the library keeps has what was last copied to it, since
/// kernels write nothing.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_clear() {
    for (address, bytes) in &*SIZES.lock().unwrap() {
        unsafe { (*address as *mut u8).write_bytes(0, *bytes) };
    }
}

/// Forgets what exists, as a process does that ends.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_forget() {
    OBJECTS.lock().unwrap().clear();
    for (address, bytes) in std::mem::take(&mut *SIZES.lock().unwrap()) {
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
    existing.iter().position(|&count| count != 0).map_or(c"", |kind| MADE[kind].0).as_ptr()
}

/// Returns how often the context is retained.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_contexts() -> i64 {
    STATE.lock().unwrap().existing[RETAINED]
}

/// Returns what `see` was last called with.
#[unsafe(no_mangle)]
pub extern "C" fn fake_driver_seen() -> *const c_char {
    let seen = STATE.lock().unwrap().seen.clone();
    CString::new(seen).unwrap().into_raw()
}

/// Keeps arguments for tests.
fn see(arguments: String) {
    STATE.lock().unwrap().seen = arguments;
}

/// Functions that always fail, and their codes: `FAKE_DRIVER_FAILS=cuInit:100,cuDeviceGet:101`.
static FAILS: LazyLock<BTreeMap<String, c_int>> = LazyLock::new(|| {
    let text = std::env::var("FAKE_DRIVER_FAILS").unwrap_or_default();
    let fails = text.split(',').filter_map(|fails| fails.split_once(':'));
    fails.map(|(name, code)| (name.to_owned(), code.parse().unwrap())).collect()
});

/// Counts a call, and returns the code of a call that is to fail.
fn begin(name: &'static CStr) -> Option<c_int> {
    log(name.to_str().unwrap());
    if let Some(code) = FAILS.get(name.to_str().unwrap()) {
        return Some(*code);
    }
    let mut state = STATE.lock().unwrap();
    let number = state.calls;
    state.calls += 1;
    if state.failing == (number..number + 1) && name == c"cuCtxPushCurrent_v2" {
        state.failing = number + 1..number + 2;
    }
    state.failing.contains(&number).then(|| {
        state.free(name);
        state.failed = name;
        state.code
    })
}

/// Counts what a call frees and makes, and returns its code.
fn finish(name: &CStr, call: impl FnOnce() -> Answer) -> c_int {
    STATE.lock().unwrap().free(name);
    match call() {
        Ok(()) => {
            STATE.lock().unwrap().make(name);
            0
        }
        Err(code) => code,
    }
}

fn log(name: &str) {
    let Some(path) = std::env::var_os("FAKE_DRIVER_LOG") else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{name}\n").as_bytes()).unwrap();
}

fn number() -> usize {
    NEXT.fetch_add(1, SeqCst)
}

fn make(handle: *mut usize, object: Object) {
    unsafe { *handle = number() };
    OBJECTS.lock().unwrap().insert(unsafe { *handle }, object);
}

/// Returns a part of an object, or an error for a handle of no object of the kind.
macro_rules! of {
    ($handle:expr, $kind:pat => $part:expr) => {{
        let mut objects = OBJECTS.lock().unwrap();
        match objects.get_mut(&$handle) {
            Some($kind) => Ok($part),
            _ => Err(INVALID_HANDLE),
        }
    }};
}

macro_rules! destroy {
    ($handle:ident, $kind:pat) => {{
        of!($handle, $kind => ())?;
        OBJECTS.lock().unwrap().remove(&$handle);
    }};
}

fn is_captured(stream: usize) -> Answer<bool> {
    match stream {
        // The default stream.
        0 => Ok(false),
        _ => of!(stream, Stream { recorded, .. } => recorded.is_some()),
    }
}

fn refuse_captured(stream: usize) -> Answer {
    match is_captured(stream)? {
        true => Err(CAPTURED),
        false => Ok(()),
    }
}

/// Does work now, or records it if the stream is captured.
fn work(stream: usize, work: impl Fn() + Send + 'static) -> Answer {
    of!(stream, Stream { recorded, .. } => match recorded {
        Some(works) => works.push(Box::new(work)),
        None => work(),
    })
}

/// Defines functions that return a code, and need the context if they say so.
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
            let is_current = || CONTEXTS.with_borrow(|contexts| contexts.last() == Some(&CONTEXT));
            if stringify!($kind) == "inside" && !(is_current() && fake_driver_contexts() > 0) {
                return OUT_OF_CONTEXT;
            }
            #[allow(unused_unsafe)]
            finish(NAME, move || {
                unsafe { $body }
                Ok(())
            })
        }
    )*};
}

functions! {
    anywhere cuInit(_flags: c_uint) {}
    anywhere cuDriverGetVersion(version: *mut c_int) { *version = 13010 }
    anywhere cuDeviceGet(device: *mut c_int, ordinal: c_int) { *device = DEVICE + ordinal }
    anywhere cuDeviceGetCount(count: *mut c_int) {
        *count = std::env::var("FAKE_DRIVER_GPUS").map_or(1, |gpus| gpus.parse().unwrap());
    }
    anywhere cuDeviceGetName(name: *mut c_char, _length: c_int, _device: c_int) { *name = 0 }
    anywhere cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) { *bytes = 1 << 36 }
    anywhere cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) {
        *value = match attribute {
            16 => 132,
            39 => 2048,
            75 => 9,
            76 => 0,
            97 => 227 << 10,
            _ => 1,
        };
    }
    anywhere cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) {
        assert_eq!(device, DEVICE);
        *context = CONTEXT;
    }
    anywhere cuDevicePrimaryCtxRelease_v2(device: c_int) { assert_eq!(device, DEVICE) }
    anywhere cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) {
        assert_eq!(device, DEVICE);
        (*flags, *active) = (0, (fake_driver_contexts() > 0).into());
    }
    anywhere cuCtxGetDevice(device: *mut c_int) { *device = DEVICE }
    anywhere cuCtxSetCurrent(context: usize) {
        assert_eq!(context, CONTEXT);
        CONTEXTS.set(vec![context]);
    }
    anywhere cuCtxGetCurrent(context: *mut usize) {
        *context = CONTEXTS.with_borrow(|contexts| contexts.last().copied().unwrap_or(0));
    }
    anywhere cuCtxPushCurrent_v2(context: usize) {
        if context != CONTEXT {
            return Err(OUT_OF_CONTEXT);
        }
        CONTEXTS.with_borrow_mut(|contexts| contexts.push(context));
    }
    anywhere cuCtxPopCurrent_v2(context: *mut usize) {
        *context = CONTEXTS.with_borrow_mut(Vec::pop).expect("a context is current");
    }
    inside cuCtxSynchronize() {
        let is_captured = |object: &Object| matches!(object, Stream { recorded: Some(_), .. });
        if OBJECTS.lock().unwrap().values().any(is_captured) {
            return Err(CAPTURED);
        }
    }
    inside cuModuleLoadDataEx(
        module: *mut usize, image: *const c_char, count: c_uint, names: *const c_int, values: *const usize
    ) {
        let options = (0..count as usize).map(|i| (*names.add(i), *values.add(i)));
        let options: BTreeMap<_, _> = options.collect();
        see(format!("{options:?}"));
        // The target of the context, and another.
        if options.contains_key(&8) && options.contains_key(&9) {
            return Err(INVALID_VALUE);
        }
        let text = CStr::from_ptr(image).to_str().unwrap();
        if !text.contains(".version") {
            if let Some(log) = options.get(&5) {
                (*log as *mut u8).copy_from_nonoverlapping(c"no PTX".as_ptr().cast(), 7);
            }
            return Err(INVALID_PTX);
        }
        make(module, Module { text: text.to_owned(), variables: BTreeMap::new() });
    }
    inside cuModuleLoad(module: *mut usize, path: *const c_char) {
        let text = std::fs::read_to_string(CStr::from_ptr(path).to_str().unwrap());
        make(module, Module { text: text.map_err(|_| FILE_NOT_FOUND)?, variables: BTreeMap::new() });
    }
    inside cuModuleUnload(module: usize) { destroy!(module, Module { .. }) }
    inside cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) {
        let name = CStr::from_ptr(name).to_str().unwrap().to_owned();
        if !of!(module, Module { text, .. } => text.contains(&format!(".entry {name}(")))? {
            return Err(NOT_FOUND);
        }
        make(function, Function { module, name });
    }
    inside cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: usize, name: *const c_char) {
        (*address, *bytes) = variable(module, CStr::from_ptr(name).to_str().unwrap())?;
    }
    anywhere cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: usize) {
        *value = of!(function, Function { .. } => 100 + attribute)?;
    }
    inside cuFuncSetAttribute(function: usize, attribute: c_int, value: c_int) {
        of!(function, Function { .. } => see(format!("{attribute}: {value}")))?;
    }
    // These answers depend on all arguments.
    inside cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: usize, _size: Pointer, shared: usize, limit: c_int
    ) {
        *grid = of!(function, Function { .. } => shared as c_int - 1)?;
        *block = if limit == 0 { 1024 } else { limit };
    }
    inside cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: usize, threads: c_int, shared: usize
    ) {
        *blocks = of!(function, Function { .. } => 1600 / threads - shared as c_int)?;
    }
    inside cuOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize, function: usize, blocks: c_int, threads: c_int
    ) {
        *bytes = of!(function, Function { .. } => (1 << 16) / blocks as usize - threads as usize)?;
    }
    inside cuLaunchKernel(
        function: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
        shared: c_uint, stream: usize, parameters: *const *const usize, extra: Pointer
    ) {
        assert!(extra.is_null());
        assert!(!IS_COPYING.load(SeqCst), "a kernel could read what a copy has yet to write");
        see(format!("{:?} {:?} {shared}", (gx, gy, gz), (bx, by, bz)));
        if bx * by * bz > 1024 {
            return Err(INVALID_VALUE);
        }
        let (module, name) = of!(function, Function { module, name } => (*module, name.clone()))?;
        if name != "scaled_sums" {
            return work(stream, || {});
        }
        // `scaled_sums(a: &[f32], b: &[f32], c: *mut f32)`, c = SCALE · (a + b).
        let argument = |i: usize| **parameters.add(i);
        let slice = |i: usize| std::slice::from_raw_parts(argument(i) as *const f32, argument(i + 1));
        let (a, b, c) = (slice(0), slice(2), argument(4));
        let (scale, _) = variable(module, "SCALE")?;
        let add = move |i: usize| unsafe { *(c as *mut f32).add(i) = *(scale as *const f32) * (a[i] + b[i]) };
        work(stream, move || (0..a.len()).for_each(add))?;
    }
    anywhere cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { (*free, *total) = (1 << 36, 1 << 36) }
    inside cuMemPoolCreate(pool: *mut usize, _properties: Pointer) { make(pool, Pool) }
    inside cuMemPoolDestroy(pool: usize) { destroy!(pool, Pool) }
    inside cuMemPoolTrimTo(pool: usize, _bytes: usize) { of!(pool, Pool => ())? }
    inside cuMemPoolSetAttribute(pool: usize, _attribute: c_int, _value: Pointer) { of!(pool, Pool => ())? }
    inside cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: usize, stream: usize) {
        of!(pool, Pool => ())?;
        refuse_captured(stream)?;
        if let Ok(most) = std::env::var("FAKE_DRIVER_MEMORY") {
            let used: usize = SIZES.lock().unwrap().values().sum();
            if used + bytes > most.parse().unwrap() {
                return Err(OUT_OF_MEMORY);
            }
        }
        *address = allocate(bytes)?;
    }
    // Without pools.
    inside cuMemAlloc_v2(address: *mut u64, bytes: usize) { *address = allocate(bytes)? }
    inside cuMemFree_v2(address: u64) { free(address) }
    inside cuMemFreeAsync(address: u64, stream: usize) {
        refuse_captured(stream)?;
        free(address);
    }
    inside cuMemAllocHost_v2(address: *mut *mut u8, bytes: usize) {
        if std::env::var_os("FAKE_DRIVER_LOCKS_NOTHING").is_some() {
            return Err(OUT_OF_MEMORY);
        }
        *address = alloc(layout(bytes));
        SIZES.lock().unwrap().insert(*address as u64, bytes);
    }
    inside cuMemFreeHost(address: u64) { free(address) }
    inside cuPointerGetAttribute(_value: Pointer, _attribute: c_int, address: u64) {
        if !is_known(address) {
            return Err(INVALID_VALUE);
        }
    }
    inside cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) {
        if !is_known(from) {
            log("pageable");
        }
        work(stream, move || copy(from, to, bytes))?;
    }
    inside cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) {
        work(stream, move || copy(from, to, bytes))?;
    }
    inside cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) {
        work(stream, move || copy(from, to, bytes))?;
    }
    inside cuMemsetD8Async(address: u64, value: u8, bytes: usize, stream: usize) {
        work(stream, move || fill(address, value, bytes))?;
    }
    inside cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) { in_default_stream(|| copy(from, to, bytes)) }
    inside cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) { in_default_stream(|| copy(from, to, bytes)) }
    inside cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) { copy(from, to, bytes) }
    inside cuMemsetD8_v2(to: u64, value: u8, count: usize) { in_default_stream(|| fill(to, value, count)) }
    inside cuMemsetD16_v2(to: u64, value: u16, count: usize) { in_default_stream(|| fill(to, value, count)) }
    inside cuMemsetD32_v2(to: u64, value: u32, count: usize) { in_default_stream(|| fill(to, value, count)) }
    inside cuStreamCreateWithPriority(stream: *mut usize, flags: c_uint, priority: c_int) {
        see(format!("{flags} {priority}"));
        make(stream, Stream { flags, priority: priority.max(-2), recorded: None });
    }
    inside cuStreamGetFlags(stream: usize, value: *mut c_uint) { *value = of!(stream, Stream { flags, .. } => *flags)? }
    inside cuStreamGetPriority(stream: usize, value: *mut c_int) {
        *value = of!(stream, Stream { priority, .. } => *priority)?;
    }
    inside cuStreamQuery(stream: usize) { refuse_captured(stream)? }
    inside cuStreamDestroy_v2(stream: usize) {
        refuse_captured(stream)?;
        destroy!(stream, Stream { .. });
    }
    inside cuStreamSynchronize(stream: usize) {
        refuse_captured(stream)?;
        if stream == 0 {
            IS_COPYING.store(false, SeqCst);
        }
    }
    inside cuStreamWaitEvent(stream: usize, event: usize, flags: c_uint) {
        assert_eq!(flags, 0);
        of!(event, Event { .. } => ())?;
        refuse_captured(stream)?;
    }
    inside cuEventCreate(event: *mut usize, flags: c_uint) {
        see(flags.to_string());
        make(event, Event { flags, recorded: None });
    }
    inside cuEventRecord(event: usize, stream: usize) {
        refuse_captured(stream)?;
        of!(event, Event { recorded, .. } => *recorded = Some(number()))?;
    }
    inside cuEventQuery(event: usize) { of!(event, Event { .. } => ())? }
    inside cuEventSynchronize(event: usize) { of!(event, Event { .. } => ())? }
    // A record is 1.5 ms after the one before, if nothing was made meanwhile.
    inside cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) {
        let time = |event| of!(event, Event { flags: 0 | 1 | 4, recorded: Some(time) } => *time as f32);
        *milliseconds = 1.5 * (time(end)? - time(start)?);
    }
    inside cuEventDestroy_v2(event: usize) { destroy!(event, Event { .. }) }
    inside cuStreamBeginCapture_v2(stream: usize, _mode: c_int) {
        of!(stream, Stream { recorded, .. } => *recorded = Some(vec![]))?;
    }
    inside cuStreamIsCapturing(stream: usize, status: *mut c_int) { *status = is_captured(stream)?.into() }
    inside cuStreamEndCapture(stream: usize, graph: *mut usize) {
        let works = of!(stream, Stream { recorded, .. } => recorded.take())?;
        make(graph, Graph(works.ok_or(INVALID_VALUE)?));
    }
    inside cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, _flags: u64) {
        make(executable, Executable(of!(graph, Graph(works) => std::mem::take(works))?));
    }
    inside cuGraphLaunch(executable: usize, stream: usize) {
        refuse_captured(stream)?;
        of!(executable, Executable(works) => works.iter().for_each(|work| work()))?;
    }
    inside cuGraphExecDestroy(executable: usize) { destroy!(executable, Executable(_)) }
    inside cuGraphDestroy(graph: usize) { destroy!(graph, Graph(_)) }
}

/// Tells a code that is newer than cust.
fn describe(code: c_int, text: *mut *const c_char, words: &'static CStr) -> c_int {
    if code != 912 {
        return INVALID_VALUE;
    }
    unsafe { *text = words.as_ptr() };
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(code: c_int, text: *mut *const c_char) -> c_int {
    describe(code, text, c"CUDA_ERROR_CDP_NOT_SUPPORTED")
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int {
    describe(code, text, c"no dynamic parallelism")
}

/// Returns the address and the size of a variable that is declared like `.align 4 .b8 NAME[4] = {232, 3};`.
fn variable(module: usize, name: &str) -> Answer<(u64, usize)> {
    of!(module, Module { text, variables } => {
        let (before, after) = text.split_once(&format!(" .b8 {name}[")).ok_or(NOT_FOUND)?;
        let (bytes, after) = after.split_once(']').unwrap();
        let bytes = bytes.parse().unwrap();
        let address = variables.entry(name.to_owned()).or_insert_with(|| {
            let align: usize = before.rsplit_once(".align ").unwrap().1.parse().unwrap();
            let values = after.lines().next().unwrap().trim_matches([' ', '=', '{', '}', ';']);
            let values = values.split(", ").filter_map(|value| value.parse().ok());
            // At an odd multiple of the alignment.
            let mut place: Vec<u8> = vec![0; align];
            place.extend(values.chain(std::iter::repeat(0)).take(bytes));
            unsafe {
                let start = alloc(layout(place.len()));
                start.copy_from_nonoverlapping(place.as_ptr(), place.len());
                start.add(align) as u64
            }
        });
        (*address, bytes)
    })
}

/// The alignment of pages, which page-locked memory has.
fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 4096).unwrap()
}

fn allocate(bytes: usize) -> Answer<u64> {
    match bytes {
        0 => return Err(INVALID_VALUE),
        1..=0x100_0000_0000 => {}
        _ => return Err(OUT_OF_MEMORY),
    }
    let place = unsafe { alloc(layout(bytes)) } as u64;
    // What a GPU's memory has at first is any number.
    fill(place, std::env::var("FAKE_DRIVER_FILL").map_or(0xffu8, |fill| fill.parse().unwrap()), bytes);
    SIZES.lock().unwrap().insert(place, bytes);
    Ok(place)
}

fn free(address: u64) {
    let bytes = SIZES.lock().unwrap().remove(&address).unwrap();
    fill(address, 0xeeu8, bytes);
    unsafe { dealloc(address as *mut u8, layout(bytes)) };
}

/// Whether the address is in memory of the GPU or in page-locked memory.
fn is_known(address: u64) -> bool {
    let sizes = SIZES.lock().unwrap();
    let last = sizes.range(..=address).next_back();
    last.is_some_and(|(start, bytes)| address - start < *bytes as u64)
}

fn copy(from: u64, to: u64, bytes: usize) {
    unsafe { (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes) };
}

fn fill<T: Copy>(to: u64, value: T, count: usize) {
    unsafe { std::slice::from_raw_parts_mut(to as *mut T, count) }.fill(value);
}

fn in_default_stream(work: impl FnOnce()) {
    IS_COPYING.store(true, SeqCst);
    work();
}
