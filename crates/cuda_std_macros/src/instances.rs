//! Generic kernels: `#[kernel(instances(f32, 128; f64, 64))]` makes a kernel for each list of arguments.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{GenericParam, ItemFn};

use crate::bound::Bound;
use crate::kernel;

/// The arguments of one kernel, and its name if it is given.
struct Instance {
    arguments: Vec<TokenStream>,
    name: Option<Ident>,
    span: Span,
}

/// Expands `#[kernel(attribute)] function`.
pub fn expand(attribute: TokenStream, function: &ItemFn) -> syn::Result<TokenStream> {
    let (bound, list) = split(attribute);
    let Some(list) = list else {
        return kernel::expand(&syn::parse2::<Bound>(bound)?, function);
    };
    let instances = parse(&list)?;
    let parameters: Vec<&GenericParam> = arguments_of(function).collect();
    if parameters.is_empty() {
        let message = "`instances` is for generic kernels: this one has no types and no constants as parameters";
        return Err(syn::Error::new(list.span(), message));
    }
    let base = &function.sig.ident;
    let (vis, generics) = (&function.vis, &function.sig.generics);
    let names: Vec<Ident> = parameters.iter().map(|one| name_of(one)).collect();
    // A type of the same name: functions and types with fields do not share names.
    let marked = parameters.iter().map(|parameter| match parameter {
        GenericParam::Const(constant) => {
            let (name, ty) = (&constant.ident, &constant.ty);
            quote!(const #name: #ty)
        }
        other => name_of(other).into_token_stream(),
    });
    let marked: Vec<TokenStream> = marked.collect();
    let types = parameters
        .iter()
        .filter(|one| matches!(one, GenericParam::Type(_)));
    let types: Vec<Ident> = types.map(|one| name_of(one)).collect();

    let mut out = TokenStream::new();
    let mut taken: Vec<Ident> = Vec::new();
    for Instance {
        arguments,
        name,
        span,
    } in instances
    {
        if arguments.len() != names.len() {
            let message = format!(
                "{} arguments for {} parameters: instances are separated by semicolons",
                arguments.len(),
                names.len()
            );
            return Err(syn::Error::new(span, message));
        }
        let name = name.unwrap_or_else(|| instance_name(base, &arguments));
        if taken.contains(&name) {
            let message = format!(
                "two instances have the name `{name}`: give one another, as in `instances(f32; f64 as {name}_2)`"
            );
            return Err(syn::Error::new(span, message));
        }
        taken.push(name.clone());
        let replace = |tokens: TokenStream| replaced(tokens, &names, &arguments);
        let mut instance = function.clone();
        instance.sig.generics = syn::parse2(without_arguments(function))?;
        instance.sig.generics.where_clause = None;
        instance.sig.ident = name.clone();
        instance.sig = syn::parse2(replace(instance.sig.to_token_stream()))?;
        // The name may be that of a parameter, as in `fn T<T>`.
        instance.sig.ident = name.clone();
        let aliases = parameters.iter().zip(&arguments);
        let aliases = aliases.map(|(parameter, argument)| alias(parameter, argument));
        let body = &function.block;
        instance.block = syn::parse2(quote!({ #(#aliases)* #body }))?;
        let bound: Bound = syn::parse2(replace(bound.clone()))?;
        let types = kernel::host_types(&instance)?;
        out.extend(kernel::expand(&bound, &instance)?);
        let conditions = &generics.where_clause;
        out.extend(quote_spanned! {span=>
            // The arguments meet the bounds of the parameters.
            const _: () = {
                const fn check #generics () #conditions {}
                check::<#(#arguments),*>();
            };

            #[cfg(not(target_arch = "nvptx64"))]
            impl ::cuda_std::host::Instance for #base<#(#arguments),*> {
                type Arguments = (#(#types,)*);
                fn kernel() -> &'static ::cuda_std::host::Kernel<Self::Arguments> {
                    &#name
                }
            }
        });
    }
    let documentation = function
        .attrs
        .iter()
        .filter(|one| one.path().is_ident("doc"));
    out.extend(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        #vis struct #base<#(#marked),*> {
            _arguments: ::core::marker::PhantomData<(#(#types,)*)>,
        }

        #(#documentation)*
        #[cfg(not(target_arch = "nvptx64"))]
        #vis fn #base<#(#marked),*>() -> &'static ::cuda_std::host::Kernel<
            <#base<#(#names),*> as ::cuda_std::host::Instance>::Arguments,
        >
        where
            #base<#(#names),*>: ::cuda_std::host::Instance,
        {
            <#base<#(#names),*> as ::cuda_std::host::Instance>::kernel()
        }
    });
    Ok(out)
}

/// The attribute without `instances(…)`, and what is in it.
fn split(attribute: TokenStream) -> (TokenStream, Option<Group>) {
    let mut rest: Vec<TokenTree> = Vec::new();
    let mut list = None;
    let mut tokens = attribute.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match (&token, tokens.peek()) {
            (TokenTree::Ident(name), Some(TokenTree::Group(group)))
                if name == "instances" && group.delimiter() == Delimiter::Parenthesis =>
            {
                list = Some(group.clone());
                tokens.next();
                // The comma before it, or else the one behind.
                let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
                if rest.last().is_some_and(is_comma) {
                    rest.pop();
                } else if tokens.peek().is_some_and(is_comma) {
                    tokens.next();
                }
            }
            _ => rest.push(token),
        }
    }
    (rest.into_iter().collect(), list)
}

/// The instances in `f32, 128; f64, 64 as wide`.
fn parse(list: &Group) -> syn::Result<Vec<Instance>> {
    let mut instances = Vec::new();
    for part in separated(list.stream(), ';') {
        let span = part
            .clone()
            .into_iter()
            .next()
            .map_or(list.span(), |token| token.span());
        let mut arguments = separated(part, ',');
        let mut name = None;
        if let Some(last) = arguments.last_mut() {
            let tokens: Vec<TokenTree> = last.clone().into_iter().collect();
            if let [before @ .., TokenTree::Ident(word), TokenTree::Ident(given)] = &tokens[..]
                && word == "as"
                && !before.is_empty()
            {
                name = Some(given.clone());
                *last = before.iter().cloned().collect();
            }
        }
        instances.push(Instance {
            arguments,
            name,
            span,
        });
    }
    match instances.is_empty() {
        true => Err(syn::Error::new(
            list.span(),
            "`instances` has no arguments: `instances(f32; f64)`",
        )),
        false => Ok(instances),
    }
}

/// The argument under the parameter's name, for the kernel's body.
fn alias(parameter: &GenericParam, argument: &TokenStream) -> TokenStream {
    match parameter {
        GenericParam::Const(constant) => {
            let (name, ty) = (&constant.ident, &constant.ty);
            quote! {
                #[allow(dead_code)]
                const #name: #ty = #argument;
            }
        }
        other => {
            let name = name_of(other);
            quote! {
                #[allow(dead_code)]
                type #name = #argument;
            }
        }
    }
}

/// The parts between marks that are not between angle brackets.
fn separated(tokens: TokenStream, mark: char) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    let mut depth = 0_i32;
    for token in tokens {
        if let TokenTree::Punct(punct) = &token {
            match punct.as_char() {
                '<' => depth += 1,
                '>' => depth -= 1,
                c if c == mark && depth == 0 => {
                    parts.push(TokenStream::new());
                    continue;
                }
                _ => {}
            }
        }
        parts
            .last_mut()
            .expect("it begins with one")
            .extend([token]);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The types and constants among the parameters.
fn arguments_of(function: &ItemFn) -> impl Iterator<Item = &GenericParam> {
    let parameters = function.sig.generics.params.iter();
    parameters.filter(|one| !matches!(one, GenericParam::Lifetime(_)))
}

/// The lifetimes alone.
fn without_arguments(function: &ItemFn) -> TokenStream {
    let lifetimes = function.sig.generics.lifetimes();
    quote!(<#(#lifetimes),*>)
}

fn name_of(parameter: &GenericParam) -> Ident {
    match parameter {
        GenericParam::Type(one) => one.ident.clone(),
        GenericParam::Const(one) => one.ident.clone(),
        GenericParam::Lifetime(one) => one.lifetime.ident.clone(),
    }
}

/// The function's name with its arguments in small letters: `reduce_f32_128`.
fn instance_name(base: &Ident, arguments: &[TokenStream]) -> Ident {
    let mut name = base.unraw().to_string();
    for argument in arguments {
        // Of a path the last part.
        let text = argument.to_string().replace("- ", "minus_");
        let text = text.rsplit("::").next().unwrap_or_default().to_lowercase();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words.filter(|word| !word.is_empty()) {
            name = format!("{name}_{word}");
        }
    }
    Ident::new(&name, base.span())
}

/// The tokens of a signature or of a bound with arguments in place of parameters.
fn replaced(tokens: TokenStream, names: &[Ident], arguments: &[TokenStream]) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let number = match &token {
            TokenTree::Ident(name) => names.iter().position(|one| one == name),
            _ => None,
        };
        // Not a field, a lifetime, or a part of a path behind the first one.
        let is_other = matches!(out.last(), Some(TokenTree::Punct(mark)) if ['.', '\''].contains(&mark.as_char()))
            || ends_with_colons(&out);
        match (token, number.filter(|_| !is_other)) {
            (TokenTree::Group(group), _) => {
                let mut inside = Group::new(
                    group.delimiter(),
                    replaced(group.stream(), names, arguments),
                );
                inside.set_span(group.span());
                out.push(inside.into());
            }
            (_, Some(number)) => {
                let argument = &arguments[number];
                let is_path =
                    matches!(tokens.peek(), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
                // `T::ZERO` becomes `<f32>::ZERO`. One colon follows the name of a field in a pattern alone.
                let is_path = is_path && {
                    let mut ahead = tokens.clone();
                    ahead.next();
                    matches!(ahead.next(), Some(TokenTree::Punct(mark)) if mark.as_char() == ':')
                };
                match is_path {
                    true => out.extend(quote!(<#argument>)),
                    false => out.extend(argument.clone()),
                }
            }
            (token, None) => out.push(token),
        }
    }
    out.into_iter().collect()
}

fn ends_with_colons(tokens: &[TokenTree]) -> bool {
    let is_colon =
        |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ':');
    matches!(tokens, [.., a, b] if is_colon(a) && is_colon(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(attribute: &str, function: &str) -> Result<String, String> {
        let attribute = attribute.parse().expect("tokens");
        let function: ItemFn = syn::parse_str(function).expect("a function");
        let tokens = expand(attribute, &function).map_err(|error| error.to_string())?;
        Ok(tokens.to_string())
    }

    #[test]
    fn each_list_of_arguments_is_a_kernel() {
        let text = expanded(
            "block = N, instances(f32, 128; cuda_std::f16, 64 as small)",
            "pub unsafe fn reduce<'a, T: Number, const N: u32>(x: &'a [T], y: DeviceSlice<T::Small>) { let zero = T::ZERO; let t = shared_array![T; N]; x.T; y::T; }",
        )
        .unwrap();
        for part in [
            "static reduce_f32_128 : :: cuda_std :: host :: Kernel < (:: cuda_std :: DeviceSlice < f32 > , DeviceSlice < < f32 > :: Small > ,) >",
            "static small : :: cuda_std :: host :: Kernel < (:: cuda_std :: DeviceSlice < cuda_std :: f16 > , DeviceSlice < < cuda_std :: f16 > :: Small > ,) >",
            "type T = cuda_std :: f16 ;",
            "const N : u32 = 128 ;",
            "let t = shared_array ! [T ; N]",
            "x : 64u32 , y : 1u32 , z : 1u32",
            "check :: < f32 , 128 > ()",
            "pub fn reduce < T , const N : u32 > ()",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn names_are_made_of_arguments() {
        let base = Ident::new("f", Span::call_site());
        for (arguments, name) in [
            (vec!["f32", "128"], "f_f32_128"),
            (vec!["crate::Mean", "true"], "f_mean_true"),
            (vec!["[u8; 4]", "-1"], "f_u8_4_minus_1"),
        ] {
            let arguments: Vec<TokenStream> =
                arguments.iter().map(|one| one.parse().unwrap()).collect();
            assert_eq!(instance_name(&base, &arguments).to_string(), name);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (attribute, function, reason) in [
            (
                "instances(f32)",
                "unsafe fn k() {}",
                "is for generic kernels",
            ),
            ("instances()", "unsafe fn k<T>(x: T) {}", "has no arguments"),
            (
                "instances(f32, 1)",
                "unsafe fn k<T>(x: T) {}",
                "separated by semicolons",
            ),
            ("", "unsafe fn k<T>(x: T) {}", "instances(f32; f64)"),
            (
                "instances(a::M; b::M)",
                "unsafe fn k<T>(x: T) {}",
                "two instances have the name `k_m`",
            ),
        ] {
            let error = expanded(attribute, function).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
