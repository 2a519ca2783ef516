//! Enums whose values have names.

/// An enum as a table of its values and their names.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $kind:ident { $($(#[$doc:meta])* $value:ident = $name:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $($(#[$doc])* $value,)*
        }

        impl $kind {
            /// All values, in order.
            pub const ALL: &[$kind] = &[$($kind::$value),*];

            /// The name of a value.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$value => $name,)*
                }
            }
        }
    };
}
