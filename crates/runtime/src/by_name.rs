//! Serde's traits for types whose values have names.

/// Implements serde's traits for a type by its name, with `Display` and `FromStr`, in builds with the
/// feature `serde`.
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! serialize_by_name {
    ($type:ty) => {
        /// Serializes the name.
        impl $crate::__serde::Serialize for $type {
            fn serialize<S: $crate::__serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        /// Parses a name.
        impl<'de> $crate::__serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::__serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<$type, D::Error> {
                let name: ::std::string::String =
                    $crate::__serde::Deserialize::deserialize(deserializer)?;
                name.parse().map_err($crate::__serde::de::Error::custom)
            }
        }
    };
}

/// Implements nothing: this build lacks the feature `serde`.
#[cfg(not(feature = "serde"))]
#[doc(hidden)]
#[macro_export]
macro_rules! serialize_by_name {
    ($type:ty) => {};
}
