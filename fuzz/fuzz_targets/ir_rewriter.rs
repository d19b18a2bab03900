//! The rewriting of LLVM IR, over lines of words that matter and of any other text: a byte from 128
//! on stands for a word, any other for itself.

#![no_main]

use cuda_builder::rewrite_ir;
use libfuzzer_sys::fuzz_target;

const WORDS: &[&str] = &[
    "é",
    "define ",
    "declare ",
    "ptx_kernel ",
    "internal ",
    "void ",
    "@f",
    "@k",
    "@T",
    "@\"odd name\"",
    "@__dynamic_smem",
    "@__atomic_add_f32",
    "@\"__cuda_std_constant.k::a::X:1\"",
    "@\"__cuda_std_constant.k::X:20\"",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<{ ",
    " }>",
    ", ",
    " = ",
    " ",
    "ptr ",
    "i32 ",
    "i64 ",
    "float ",
    "[4 x i8] ",
    "[2 x i64] ",
    "[8 x i128] ",
    "[65536 x i8] ",
    "<{ [4 x i8], ptr }> ",
    "%a",
    "%0",
    "%1",
    "%\"odd\"",
    " noundef ",
    "byval([2 x i64]) ",
    "unnamed_addr ",
    "local_unnamed_addr ",
    "#0 {",
    "start:",
    "global ",
    "constant ",
    "external ",
    "private ",
    "undef",
    "poison",
    "zeroinitializer",
    "c\"\\00\\01\"",
    "addrspacecast ",
    "addrspace(3) ",
    ", section \".shared\"",
    ", section \".shared.static\"",
    ", section \".constant\"",
    ", section \".constant.immutable\"",
    ", align 4",
    ", align 256",
    ", align 18446744073709551615",
    "[18446744073709551615 x i8] ",
    ", !dbg !0",
    "call ",
    "tail ",
    " asm ",
    "sideeffect ",
    "\"// cuda_builder ",
    "reqntid 1 2 3",
    "maxntid 512 1 1",
    "minctasm 2",
    "paramalign 0 64",
    "\"~{memory}\"",
    "\"",
    "atomicrmw add ",
    "cmpxchg ",
    "load atomic ",
    " monotonic",
    " acq_rel",
    " seq_cst",
    "alignstack(64) ",
];

fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else {
        return;
    };
    let mut ir = String::new();
    for &byte in data {
        match byte.checked_sub(128) {
            Some(number) => ir.push_str(WORDS[usize::from(number) % WORDS.len()]),
            None => ir.push(byte.into()),
        }
    }
    let Ok(rewritten) = rewrite_ir(&ir, first % 2 == 1) else {
        return;
    };
    assert!(rewritten.is_empty() || rewritten.ends_with('\n'));
    // IR without anything to rewrite stays.
    let is_plain = |c: char| c.is_ascii_lowercase() || c == ' ' || c == '\n';
    if ir.chars().all(is_plain) && !ir.contains("atomic") && !ir.contains("cmpxchg") {
        let lines: String = ir.lines().map(|line| line.to_owned() + "\n").collect();
        assert_eq!(rewritten, lines);
    }
});
