//! Loops that are written out.

/// The body, once for each number in the list, which is a constant of type `usize` there:
/// `unrolled! { i in [0 1 2] { … } }`.
///
/// A thread's array can be in registers only if every index into it is known. On the host it is a
/// loop, which compiles faster.
///
/// ```
/// use cuda_std::unrolled;
///
/// let mut squares = [0; 3];
/// unrolled! { i in [0 1 2] {
///     squares[i] = i * i;
/// }}
/// assert_eq!(squares, [0, 1, 4]);
/// ```
#[cfg(not(target_arch = "nvptx64"))]
#[macro_export]
macro_rules! unrolled {
    ($index:ident in [$($number:literal)*] $body:block) => {
        for $index in [$($number),*] {
            let $index: usize = $index;
            $body
        }
    };
}

/// The body, once for each number in the list.
#[cfg(target_arch = "nvptx64")]
#[macro_export]
macro_rules! unrolled {
    ($index:ident in [$($number:literal)*] $body:block) => {
        $({
            let $index: usize = $number;
            $body
        })*
    };
}
