//! The expansion of `#[kernel]`.

use crate::bound::Bound;
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    FnArg, GenericParam, Generics, ItemFn, Pat, PatType, ReturnType, Token, Type, TypeGroup,
    TypeParen, TypeReference, TypeSlice,
};

/// As many as `cuda_std::host::KernelArgs` has tuples for.
const MAX_PARAMETERS: usize = 24;

const IN_IMPL: &str = "a kernel cannot be in an `impl` or a `trait`: move the function out, and \
                       pass the value as a parameter with `#[derive(DeviceParam)]`";

pub fn expand(bound: &Bound, function: &ItemFn) -> syn::Result<TokenStream> {
    check(function)?;
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = function;
    let (name, safety) = (&sig.ident, &sig.safety);
    let name_text = name.unraw().to_string();
    let lifetimes = &sig.generics;
    let conditions = &lifetimes.where_clause;
    let inputs = &sig.inputs;
    let parameters: Vec<Parameter> = typed(inputs)
        .map(Parameter::new)
        .collect::<Result<_, _>>()?;
    let types = parameters.iter().map(Parameter::host_type);
    let types: Vec<_> = types.map(|ty| with_static(ty, lifetimes)).collect();
    let are_passed: Vec<_> = (parameters.iter().zip(&types))
        .filter_map(|(one, ty)| one.check_of_type(ty))
        .collect();
    let (run, host_arguments) = (host_function(), internal("arguments"));
    let arguments = parameters.iter().enumerate();
    let arguments: Vec<_> = arguments.map(|(i, one)| one.host_argument(i)).collect();
    let slices = parameters.iter().enumerate();
    let slices = slices.fold(0u32, |set, (i, one)| set | u32::from(one.is_slice()) << i);
    let bound_value = bound.value();
    let marker = bound.marker().map(|text| {
        quote! {
            // SAFETY: a comment does nothing.
            unsafe { ::core::arch::asm!(#text) };
        }
    });
    // What is compiled for a GPU has the kernels of the crate that was asked for. Those of kernel
    // crates that it depends on are in PTX of their own, and here functions that nobody calls.
    let in_ptx = if is_dependency() {
        quote! {
            #[allow(clippy::too_many_arguments)]
            #vis #safety fn #name #lifetimes(#inputs) #conditions #block
        }
    } else {
        let entry = parameters.iter().enumerate();
        let entry = entry.map(|(i, one)| one.entry_parameters(i));
        let bindings = parameters.iter().enumerate();
        let bindings = bindings.filter_map(|(i, one)| one.binding(i));
        quote! {
            #[unsafe(no_mangle)]
            #[allow(improper_ctypes_definitions)]
            #vis #safety extern "ptx-kernel" fn #name #lifetimes(#(#entry),*) #conditions {
                #(#are_passed)*
                #marker
                #(#bindings)*
                #block
            }
        }
    };
    Ok(quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #in_ptx

        #(#attrs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(non_upper_case_globals)]
        #vis static #name: ::cuda_std::host::Kernel<(#(#types,)*)> = {
            #(#are_passed)*
            #[allow(clippy::too_many_arguments)]
            #safety fn #name #lifetimes(#inputs) #conditions #block
            unsafe fn #run(#host_arguments: (#(#types,)*)) {
                // SAFETY: by the contract of the entry, the arguments meet the kernel's own contract.
                #[allow(unused_unsafe)]
                unsafe { #name(#(#arguments),*) }
            }
            // The package is the one that is compiled, also if a macro of another wrote the kernel.
            ::cuda_std::host::Kernel::new(
                #name_text,
                ::core::option_env!("CARGO_PKG_NAME"),
                #bound_value,
                #slices,
                #run,
            )
        };
    })
}

fn typed(inputs: &Punctuated<FnArg, Token![,]>) -> impl Iterator<Item = &PatType> {
    inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    })
}

/// A kernel's parameter, and the forms that it takes in the PTX's entry and on the host.
struct Parameter<'a> {
    pattern: &'a Pat,
    ty: &'a Type,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Passed as it is.
    Value,
    /// `&T` or `&mut T`: passed as an address.
    Reference { to: &'a Type, is_mut: bool },
    /// `&[T]` or `&mut [T]`: passed as an address and a length, two parameters of the entry.
    Slice { of: &'a Type, is_mut: bool },
}

impl<'a> Parameter<'a> {
    fn new(PatType { pat, ty, .. }: &'a PatType) -> syn::Result<Self> {
        let kind = match peeled(ty) {
            Type::Reference(TypeReference {
                mutability, elem, ..
            }) => {
                let is_mut = mutability.is_some();
                match peeled(elem) {
                    Type::Slice(TypeSlice { elem: of, .. }) => Kind::Slice { of, is_mut },
                    Type::TraitObject(_) => return Err(unsized_reference(elem)),
                    Type::Path(path) if path.path.is_ident("str") => {
                        return Err(unsized_reference(elem));
                    }
                    to => Kind::Reference { to, is_mut },
                }
            }
            value => {
                require_layout(value)?;
                Kind::Value
            }
        };
        Ok(Self {
            pattern: pat,
            ty,
            kind,
        })
    }

    fn is_slice(&self) -> bool {
        matches!(self.kind, Kind::Slice { .. })
    }

    /// The type of the argument that a launch takes.
    fn host_type(&self) -> TokenStream {
        let ty = self.ty;
        match self.kind {
            Kind::Value => quote!(#ty),
            Kind::Reference { to, is_mut: false } => quote!(*const #to),
            Kind::Reference { to, is_mut: true } => quote!(*mut #to),
            Kind::Slice { of, is_mut: false } => quote!(::cuda_std::DeviceSlice<#of>),
            Kind::Slice { of, is_mut: true } => quote!(::cuda_std::DeviceSliceMut<#of>),
        }
    }

    /// The argument of the kernel's function, from the tuple `arguments` of a launch.
    fn host_argument(&self, number: usize) -> TokenStream {
        let (arguments, number) = (internal("arguments"), syn::Index::from(number));
        match self.kind {
            Kind::Value => quote!(#arguments.#number),
            Kind::Reference { is_mut: false, .. } => quote!(&*#arguments.#number),
            Kind::Reference { is_mut: true, .. } => quote!(&mut *#arguments.#number),
            Kind::Slice { .. } => quote!(#arguments.#number.into_slice()),
        }
    }

    /// The check that a value can be passed, with the error at the parameter's type. `ty` is the
    /// type without the kernel's lifetimes.
    fn check_of_type(&self, ty: &TokenStream) -> Option<TokenStream> {
        let Kind::Value = self.kind else { return None };
        Some(quote_spanned! {self.ty.span()=>
            const _: () = ::cuda_std::assert_parameter::<#ty>();
        })
    }

    /// The parameters of the entry in the PTX.
    ///
    /// The address of a slice is a reference to no elements: it tells LLVM that the elements of a
    /// `&[T]` do not change, so that they are read through the texture cache (`ld.global.nc`).
    fn entry_parameters(&self, number: usize) -> TokenStream {
        let (pattern, ty) = (self.pattern, self.ty);
        let Kind::Slice { of, is_mut } = self.kind else {
            return quote!(#pattern: #ty);
        };
        let (address, length) = names(number);
        let mutability = is_mut.then(|| quote!(mut));
        quote!(#address: ::core::option::Option<&#mutability [#of; 0]>, #length: usize)
    }

    /// The slice that the entry makes of two parameters.
    fn binding(&self, number: usize) -> Option<TokenStream> {
        let Kind::Slice { of, is_mut } = self.kind else {
            return None;
        };
        let (pattern, ty) = (self.pattern, self.ty);
        let (address, length) = names(number);
        let (first, offset) = (internal("first"), internal("offset"));
        let (pointer, from_raw_parts) = match is_mut {
            false => (quote!(*const), quote!(from_raw_parts)),
            true => (quote!(*mut), quote!(from_raw_parts_mut)),
        };
        Some(quote! {
            // SAFETY: the launch passes a valid slice, whose address may be null if it is empty. An
            // offset keeps what LLVM knows about the parameter.
            let #pattern: #ty = unsafe {
                let #first = ::core::mem::transmute::<_, #pointer #of>(#address);
                let #offset = #first.is_null() as usize * ::core::mem::align_of::<#of>();
                ::core::slice::#from_raw_parts(#first.wrapping_byte_add(#offset), #length)
            };
        })
    }
}

/// Returns the type without parentheses and the invisible groups that macros add.
fn peeled(mut ty: &Type) -> &Type {
    while let Type::Paren(TypeParen { elem, .. }) | Type::Group(TypeGroup { elem, .. }) = ty {
        ty = elem;
    }
    ty
}

fn unsized_reference(ty: &Type) -> syn::Error {
    let message =
        "a kernel's parameter cannot be a reference to this type: pass a slice, such as `&[u8]`";
    syn::Error::new(ty.span(), message)
}

/// Fails for types of `core` whose layout may differ between the host and the GPU, which two
/// compilers compile.
fn require_layout(ty: &Type) -> syn::Result<()> {
    let what = match peeled(ty) {
        Type::Array(array) => return require_layout(&array.elem),
        Type::Tuple(_) => "a tuple",
        Type::Path(path) if is_option(&path.path) => "an `Option`",
        _ => return Ok(()),
    };
    let message = format!(
        "a kernel's parameter cannot be {what}, whose layout Rust does not define: pass a struct \
         with `#[repr(C)]` and `#[derive(Clone, Copy, DeviceParam)]`"
    );
    Err(syn::Error::new(ty.span(), message))
}

/// Whether a path names the type `Option` of `core`.
fn is_option(path: &syn::Path) -> bool {
    let names: Vec<_> = path
        .segments
        .iter()
        .map(|one| one.ident.to_string())
        .collect();
    match &names[..] {
        [name] => name == "Option",
        [root, module, name] => {
            matches!(&root[..], "core" | "std") && module == "option" && name == "Option"
        }
        _ => false,
    }
}

/// Fails for attributes that have no meaning for a kernel, and that the compiler refuses with other
/// words, since on the host the kernel is a `static`.
fn check_attributes(function: &ItemFn) -> syn::Result<()> {
    for attribute in &function.attrs {
        let path = attribute.path();
        let inside = attribute.parse_args::<syn::Meta>().ok();
        let inside = inside.filter(|_| path.is_ident("unsafe"));
        let path = inside.as_ref().map_or(path, syn::Meta::path);
        let is = |names: &[&str]| names.iter().any(|name| path.is_ident(name));
        let message = if is(&["inline", "cold", "track_caller"]) {
            "a kernel is started by launches, not called: remove this attribute, or put it on a \
             function that the kernel calls"
        } else if is(&["must_use"]) {
            "a kernel returns nothing: remove this attribute"
        } else if is(&["export_name", "link_section"]) {
            "a kernel has the name of its function in the PTX: remove this attribute, and rename \
             the function for another name"
        } else {
            continue;
        };
        return Err(syn::Error::new(attribute.span(), message));
    }
    Ok(())
}

/// Whether the tokens name `Self`, which only functions in an `impl` or a `trait` can.
fn names_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => names_self(group.stream()),
        TokenTree::Ident(name) => name == "Self",
        _ => false,
    })
}

/// The names of the entry's parameters that stand for slice `number`.
fn names(number: usize) -> (Ident, Ident) {
    (
        internal(&format!("slice_{number}")),
        internal(&format!("slice_{number}_length")),
    )
}

/// Returns the name of a variable that the expansion adds. The kernel's own variables may have the
/// same name. Constants and statics may not, since they would be patterns in place of it: hence the
/// prefix.
fn internal(name: &str) -> Ident {
    Ident::new(&format!("__cuda_std_{name}"), Span::mixed_site())
}

/// Returns the name of the function that calls the kernel on the host. It stands beside the
/// kernel's own function, which may be called `thread` or the like.
fn host_function() -> Ident {
    Ident::new("__cuda_std_thread", Span::call_site())
}

/// Returns the type with `'static` in place of the kernel's lifetimes and of `'_`, as the static
/// takes it, which has no lifetimes.
fn with_static(ty: TokenStream, generics: &Generics) -> TokenStream {
    let is_replaced =
        |name: &Ident| name == "_" || generics.lifetimes().any(|one| one.lifetime.ident == *name);
    let mut out = Vec::new();
    for token in ty {
        let is_lifetime =
            matches!(out.last(), Some(TokenTree::Punct(before)) if before.as_char() == '\'');
        out.push(match token {
            TokenTree::Group(group) => {
                let mut inside =
                    Group::new(group.delimiter(), with_static(group.stream(), generics));
                inside.set_span(group.span());
                inside.into()
            }
            TokenTree::Ident(name) if is_lifetime && is_replaced(&name) => {
                Ident::new("static", name.span()).into()
            }
            other => other,
        });
    }
    out.into_iter().collect()
}

/// Whether cargo compiles the crate for the sake of another one.
fn is_dependency() -> bool {
    std::env::var_os("CARGO").is_some() && std::env::var_os("CARGO_PRIMARY_PACKAGE").is_none()
}

fn check(function: &ItemFn) -> syn::Result<()> {
    check_attributes(function)?;
    let signature = &function.sig;
    let fail = |span: proc_macro2::Span, message: &str| Err(syn::Error::new(span, message));
    let is_lifetime = |one: &GenericParam| matches!(one, GenericParam::Lifetime(_));
    if !signature.generics.params.iter().all(is_lifetime) {
        return fail(
            signature.generics.span(),
            "a kernel cannot be generic: call a generic function from it",
        );
    }
    if !matches!(signature.output, ReturnType::Default) {
        return fail(
            signature.output.span(),
            "a kernel returns nothing: write results through a pointer",
        );
    }
    if signature.asyncness.is_some()
        || signature.constness.is_some()
        || signature.abi.is_some()
        || signature.variadic.is_some()
    {
        return fail(signature.span(), "a kernel is a plain `fn` or `unsafe fn`");
    }
    if signature.inputs.len() > MAX_PARAMETERS {
        return fail(
            signature.inputs.span(),
            "a kernel has at most 24 parameters: pass a struct",
        );
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => return fail(receiver.span(), IN_IMPL),
            FnArg::Typed(typed) if names_self(typed.ty.to_token_stream()) => {
                return fail(typed.ty.span(), IN_IMPL);
            }
            FnArg::Typed(typed) if matches!(peeled(&typed.ty), Type::ImplTrait(_)) => {
                return fail(
                    typed.ty.span(),
                    "a kernel cannot be generic: call a generic function from it",
                );
            }
            FnArg::Typed(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error of `#[kernel(bound)] function`.
    fn complaint(bound: &str, function: &str) -> Option<String> {
        let bound = match syn::parse_str::<Bound>(bound) {
            Ok(bound) => bound,
            Err(error) => return Some(error.to_string()),
        };
        let function: ItemFn = syn::parse_str(function).expect("a function");
        expand(&bound, &function)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn other_functions_are_refused_with_the_reason() {
        let many = (0..25).map(|i| format!("p{i}: u32,")).collect::<String>();
        for (function, reason) in [
            ("unsafe fn k<T>(x: T) {}", "cannot be generic"),
            ("unsafe fn k<const N: usize>() {}", "cannot be generic"),
            ("unsafe fn k(x: impl Copy) {}", "cannot be generic"),
            ("unsafe fn k(x: &str) {}", "pass a slice"),
            ("unsafe fn k(x: &dyn Fn()) {}", "pass a slice"),
            ("unsafe fn k() -> u32 { 0 }", "returns nothing"),
            ("async unsafe fn k() {}", "a plain `fn`"),
            ("const unsafe fn k() {}", "a plain `fn`"),
            ("unsafe extern \"C\" fn k() {}", "a plain `fn`"),
            ("unsafe fn k(x: u32, ...) {}", "a plain `fn`"),
            (
                &format!("unsafe fn k({many}) {{}}"),
                "at most 24 parameters",
            ),
            ("unsafe fn k(self) {}", "cannot be in an `impl`"),
            ("unsafe fn k(x: *const Self) {}", "cannot be in an `impl`"),
            ("unsafe fn k(x: (u32, u8)) {}", "cannot be a tuple"),
            ("unsafe fn k(x: ()) {}", "cannot be a tuple"),
            ("unsafe fn k(x: [(u32, u8); 3]) {}", "cannot be a tuple"),
            ("unsafe fn k(x: Option<u32>) {}", "cannot be an `Option`"),
            (
                "unsafe fn k(x: core::option::Option<u32>) {}",
                "pass a struct",
            ),
            ("#[inline] unsafe fn k() {}", "remove this attribute"),
            ("#[inline(always)] unsafe fn k() {}", "not called"),
            ("#[must_use] unsafe fn k() {}", "returns nothing"),
            (
                "#[unsafe(export_name = \"other\")] unsafe fn k() {}",
                "rename the function",
            ),
        ] {
            let complaint = complaint("", function).unwrap_or_default();
            assert!(complaint.contains(reason), "{function}: {complaint}");
        }
        for function in [
            "unsafe fn k(x: u32, y: f32) {}",
            "#[allow(dead_code)] #[unsafe(no_mangle)] unsafe fn k(x: mine::Option<u32>) {}",
            "fn k<'a>(x: &'a [u32], y: &mut [f32], z: &(u8, u8), w: *mut f32) {}",
        ] {
            assert_eq!(complaint("", function), None, "{function}");
        }
    }

    #[test]
    fn launches_take_types_without_lifetimes() {
        let generics = syn::parse_str("<'a>").expect("generics");
        let ty = quote!(Slice<Row<'a, '_, [for<'b> fn(&'b Row<'a>); 2]>, a>);
        let expected = quote!(Slice<Row<'static, 'static, [for<'b> fn(&'b Row<'static>); 2]>, a>);
        let found = with_static(ty, &generics);
        assert_eq!(found.to_string(), expected.to_string());
    }

    #[test]
    fn conditions_and_names_stay() {
        let function: ItemFn =
            syn::parse_str("fn r#loop<'a, 'b>(x: &'a [u32], y: &'b u32) where 'a: 'b {}")
                .expect("a function");
        let text = expand(&Bound::Any, &function)
            .expect("a kernel")
            .to_string();
        // For the GPU and for the host.
        assert_eq!(text.matches("where 'a : 'b").count(), 2, "{text}");
        assert!(text.contains("\"loop\""), "{text}");
    }

    #[test]
    fn other_bounds_are_refused_with_the_reason() {
        for (bound, reason) in [
            ("block = 0", "expected 1 to 1024"),
            ("block = 1025", "expected 1 to 1024"),
            ("block = ()", "one to three dimensions"),
            ("block = (1, 1, 1, 1)", "one to three dimensions"),
            ("block = (32, 33)", "at most 1024 threads"),
            ("block = (1, 1, 65)", "along z is at most 64"),
            ("block = 32, block = 32", "expected `cluster`"),
            ("max_block = 32, blocks = 2", "expected `min_blocks`"),
            ("threads = 32", "expected `block` or `max_block`"),
        ] {
            let complaint = complaint(bound, "unsafe fn k() {}").unwrap_or_default();
            assert!(complaint.contains(reason), "{bound}: {complaint}");
        }
        for bound in [
            "block = (8, 8,)",
            "max_block = 64,",
            "max_block = 64, min_blocks = 2",
        ] {
            assert_eq!(complaint(bound, "unsafe fn k() {}"), None, "{bound}");
        }
    }
}
