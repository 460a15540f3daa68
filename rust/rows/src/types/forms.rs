//! The forms of a type whose values travel as text in one of them.

/// The forms of a type that travels as text in one of them.
#[derive(Debug)]
pub struct Forms {
    /// Bytes of the longest text.
    pub longest: usize,
    /// What stands for NULL where an engine has none.
    pub zero: &'static str,
    /// Appends the one form of what a text says; `None`, and nothing, where it says no such value.
    pub push: fn(&[u8], &mut Vec<u8>) -> Option<()>,
    /// Of values that follow one another.
    pub counted: Option<Counted>,
    /// In PostgreSQL's binary protocol.
    pub postgresql: Binary,
}

/// Values by number, in their order.
#[derive(Debug)]
pub struct Counted {
    /// Which values have a number, for messages.
    pub what: &'static str,
    pub number: fn(&[u8]) -> Option<i64>,
    /// The text of a number that a value has.
    pub write: fn(i64, &mut Vec<u8>),
}

#[derive(Debug)]
pub struct Binary {
    pub name: &'static str,
    /// In every PostgreSQL's catalogue (`pg_type.dat`).
    pub oid: u32,
    /// Bytes of a value; `None`: each value has its own.
    pub width: Option<usize>,
    /// Appends the text of a cell; `None`, and nothing, where it is none of this type.
    pub push: fn(&[u8], &mut Vec<u8>) -> Option<()>,
}

/// The forms of a type as a type, so that the loop over a column is compiled for it: see [`LogicalType::visit`].
pub trait Spelled {
    const FORMS: Forms;
    /// A value in PostgreSQL's binary protocol.
    type Cell: AsRef<[u8]>;

    /// `None`: the text says no such value.
    fn cell(text: &[u8]) -> Option<Self::Cell>;

    /// Bytes of the cell of a text: encoders make as much room for it.
    #[inline(always)]
    fn cell_bytes(text: &[u8]) -> usize {
        match Self::FORMS.postgresql.width {
            Some(width) => width,
            None => Self::cell(text).map_or(0, |cell| cell.as_ref().len()),
        }
    }
}

/// What is done with a column of a spelled type.
pub trait Visitor {
    type Out;
    fn of<T: Spelled>(self) -> Self::Out;
}
