//! What must hold in every state and of every call.

use super::{Space, State};

macro_rules! promises {
    ($($name:ident = $statement:literal;)*) => {
        /// A promise of the file system, kept in every state or by every call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Promise {
            $(#[doc = $statement] $name,)*
        }

        impl Promise {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// What is promised.
            #[must_use]
            pub const fn statement(self) -> &'static str {
                match self {
                    $(Self::$name => $statement,)*
                }
            }

            /// Whether it is kept, as stateright asks.
            pub(super) const fn condition(self) -> fn(&Space, &State) -> bool {
                match self {
                    $(Self::$name => |_, state| Self::$name.is_kept(state),)*
                }
            }
        }
    };
}

promises! {
    Consistent = "names are counted, directories are a tree, and nothing is lost or left over";
    RefusalChangesNothing = "a call that is refused changes nothing but access times of symlinks on its way";
    RefusalHasRule = "every refusal names a rule";
    OpenStays = "what is open stays the same inode, whatever happens to its names";
    EntriesAsAsked = "the entries that the call is about change, as it says, and no others";
    NamelessStays = "what has lost its last name gets none again";
    ContentAsWritten = "a file holds the bytes that were written, and zeros where none were";
    TimesTell = "every change shows in the times, and no time moves without one";
    StickyHolds = "out of a sticky directory only the owner of the directory or of the entry takes it";
    EntriesNeedPermission = "entries change only where the caller may write and search";
    SetIdFalls = "content that an ordinary user changes loses the power of its owner and group";
    ListedOnce = "what is there throughout a listing is returned once";
}

impl Promise {
    fn is_kept(self, state: &State) -> bool {
        match self {
            Self::Consistent => state.fs.violation().is_none(),
            _ => state.broken != Some(self),
        }
    }
}
